// Classes of characters by which text falls into grapheme clusters (Unicode Standard Annex 29),
// in the version that the library's normaliser knows; written by tests/make_graphemes.py.
// Ranges in base 36: characters left out since the last range, then, after a point, how many more
// than one follow. Hangul syllables are told from their number and stand in no class here.
const GRAPHEME_CLASSES = {
  control: "1.u 2n.w d 12m 3jl 1ks 2.1 o.6 1d.f 17yn 6o.b ab8.f qxs.3 43z.7 h405.v 2o.3j 6o.2rz",
  bound: "6bw",
  extend: "lc.33 7n.6 7b.18 1 1.1 1.1 1 20.a 1c.k g 2t.6 2.5 2.1 1.3 z u.q 2j.a 1m.8 9 o.3 1.8 1.2 1.4 17.2 1n.8 16.n 1.v 1j 1 4.7 8.6 a.1 t 1m 1 2.3 i a.1 q 2.1 1l 4.1 4.1 2.2 3 u.1 3 b.1 1l 4.4 1.1 p.1 m.5 1 1m 1.1 1.3 g.2 a.1 u 1n 1 c 9 14 3 1j 1.2 5.2 1.2 8.1 b.1 t 1m 2.1 1 3.2 1.3 7.1 b.1 s.1 1l.1 1 2.3 i a.1 t 20 4 2.2 1 8 29 2.6 c.7 2q 2.8 b.6 21.1 r 1 1 1j.d 1.4 1.1 5.a 1.z 9 2u.3 1.5 2 2.1 p.1 4.2 g.3 d 2.1 6 f jj.2 qa.3 s.2 t.1 u.1 1s.1 1.6 8 2.8 1 9 19.2 1 39.1 y 3a.2 4.1 9 6.2 63.1 2 1m 1.6 3 2.7 6.9 2 1c.19 2.b k.3 1c.9 4.1 13.8 c.1 w.3 2.2 1.1 1k 1.1 3 1.4 1k.7 2.1 48.2 1.c 1.6 4 6 3.1 5i.1r k0.w 2da.2 3x 2o.v fe.5 2x.1 n9w.3 1.9 w.1 28.1 7k 3 4 p.1 5 47.1 q.h d 12.7 p.a 1 18.2 1c 2.3 2.1 13 1v.5 2.1 2.1 c 8 1b 1f 1.2 2.1 5.1 1 16.1 6v 2 4 fn4 kh.f g.f a6.1 gt 6a 45.4 1ae.2 1.1 5.3 14.2 4q.1 fx.3 1t.4 8t.1 25.5 1y.a 1d.3 3f 1i.e 15 2.1 a.2 1d.3 2.1 7 1p.2 10.4 1.5 1 1q c.1 1g.8 1 8.3 2 2n.2 2.3 6 2 4d 3.7 l.1 1l.1 1 1 c 9 e.6 3.4 1v 2.5 1 2 1.2 4.1 2 e.1 2d.7 2.2 1 n 29 2.5 1 2 1.1 1.1 6j 2.3 6.1 1.1 r.1 2d.7 2 1.1 2y 1 2.7 2t 1 2.3 1.4 77.8 1.1 6t a.2 5 40.3 2.1 4 w.9 14.5 2.3 i.5 2.2 1a.c 1 5j 1.2 1 5l.6 1.5 1 2a.l 2.6 1.1 1.1 3e.5 3 1.1 1.6 1 20.1 3 1 9n.1 b.1 1g.4 5.1 o 44l 6.e 8ug.b 3.2 1xc.4 1n.6 t4 1r.3 29 b.1 f57.1 3mp.19 2.m f2.4 3.5 8.7 2.6 u.3 44.2 1iz.1i 4.1d 8 e m.4 1.e 11s.6 1.g 2.6 1.1 1.4 2s 4g.6 af 1p.3 e4.3 72.1 6r 2 7.1 5 d6.6 31.6 240.4 gx7k.2n 3k.6n",
  joiner: "6bx",
  spacing: "1s3 1j 2.2 8.3 1.1 1e.1 1n.1 6.1 2.1 1i 1m.2 1u 1m.2 8 1.1 1h.1 1o 6.1 2.1 36 1.1 3.2 1.2 1g.2 1p.3 1p.1 1m 2 1.1 1a e.1 1n.1 5.2 1.2 1h.1 24.1 6.6 j.1 1r 3j 3u.1 1r 4x 9.1 p.1 18 1f5 7.7 1.1 9m.3 2.2 4.1 1.5 68.1 1m 1 l.5 41 1l.3 1s u 4.1 1r 2.2 1 1h.7 8.1 4r l rhn.1 2 2g.1 1e.f 3y 1c 1c.1 4.1 2.1 33.1 2.1 o 4d 2.1 5 6l.1 1.1 1.1 1 jrn 1 3j 19.2 4.1 37 o.1 1n 1c.2 9 e 2l.2 3.1 4s.2 v.1 1n 1.3 2.1 2.1 l.1 2d.1 f 1.1 2v.2 8.1 3 2z.1 6 1.1 1 2 6m.1 6.3 2 35.2 8.1 1 31 1.1 32 7 79.2 9 6w.4 1.1 7 1 3y.2 8.3 4 2c t.1 1q 5l 3 1 5j e 2y 7 2 5x.4 4.1 1 9q.1 c 1c.1 8.1 d0q.2 2sk.1i",
  regional: "2qcm.p",
  leading: "3cw.2n u0w.s",
  vowel: "3fk.1z 1348.m tjw 3.3",
  trailing: "3hk.2f 132j.1c",
  prepend: "16o.5 5z 1d ao.1 28 vf 1f8u f 6s.1 el 12l 1 8y.5 jg cb",
  linker: "1u5 3j 73 3j 73 73 kr 1i0 i5 6b 2u s2c 8l itk 1df ik 12l 7c 29 x4",
  consonant: "1sl.10 u.7 o.7 l.j 1.6 1 3.3 y.1 1 g.1 4j.j 1.6 1.1 1.4 1r r.j 1.6 1.1 1.4 y.1 1 h 4j.j 1.f u.2 56.11 jp.16 k g.5 4.3 3 3.1 7.2 4.c c 1dd.1f h8.1g 52.1 6.w h.7 1i.t d.1 b.2 s0b.2 3.z 19.4 2.8 a.4 2p.f 1.2 6 3.1 2o.a 5x.q ilh f.3 1.2 1.s 1cd.z t 2 fs.9 1 2 1.11 11m.6 2 2.7 1.1 1.n 5s a.13 t b.13 w0.c 1.x",
  pictograph: "4p 4 68d c 60 m 2i.5 f.1 a7.1 c 4m p.a 4.2 5j 6f.1 a 9 1m.3 1.4 9 2 2.1 2 4 2 1.1 2 3 3.1 8.2 5 1 5.b b.1 2 1.1 1 i 2.1 i.5 1 1.1 3.1 5 2.1 4.1 b.1 5.1 2 5.1 1 1.1 k.1 5.5 1.3 2 4 2 2.5 1 2 1 1 6 3 6 a.1 f 2 4 1 4.2 1 b.1 1c.2 9 e e ac.1 cv.2 j.1 1f 4 yi c gp 1 2fze 13.3 2s.b f.1 f e.1 11.9 34.1 c.1 e 2.9 j.1j r.e a k 2.8 1.3 9.m 6.57 2.33 2.1 1.2 2.2a 2.2 1.3 5.71 1.1q b.5 1.n 7.1 2.7 c 2.3 2 4.1 d.1 2 8.1 9 5.2 c.2 8.2 2 1 4 6 3 6.2d 1c.1x 5.7 2.g 3 1.5 2.c 62.11 c.3 1k.7 a.5 14.7 u.1 c.3 2.d 9.12 c.1a 1.9 1.54 2g.7 e.41 74.sd",
};
