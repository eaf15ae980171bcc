"""Turkish encyclopaedia sentences: places, people, works, species, numbers."""

from __future__ import annotations

from sagevocab.data.synthetic.sampling import Choice
from sagevocab.data.synthetic.turkish_clauses import Clauses
from sagevocab.data.synthetic.turkish_morphology import copula_of, noun, with_case
from sagevocab.data.synthetic.turkish_numbers import number
from sagevocab.data.synthetic.turkish_phonology import Stem, parse_stem
from sagevocab.data.synthetic.turkish_phrases import Phrase, join

_DIRECTIONS = ("kuzeyinde", "güneyinde", "doğusunda", "batısında", "merkezinde", "kuzeydoğusunda")
_LANDMARKS = (
    "kale",
    "cami",
    "köprü",
    "saray",
    "müze",
    "kilise",
    "çeşme",
    "medrese",
    "kule",
    "kütüphane",
)
_JOBS = ("öğretmenlik", "avukatlık", "gazetecilik", "mimarlık", "doktorluk", "yazarlık")
_KNOWN_FOR = ("ünlüdür", "tanınır", "bilinir")
_MEASURES = (
    ("yükseklik", "metre"),
    ("uzunluk", "kilometre"),
    ("yüz ölçüm", "kilometrekare"),
    ("ağırlık", "ton"),
    ("uzaklık", "kilometre"),
    ("derinlik", "metre"),
)


class Encyclopaedia:
    """Sentences about names, in the third person and the formal style."""

    def __init__(self, clauses: Clauses) -> None:
        """Take names, roots and chance from a clause builder."""
        self.clauses = clauses
        self.rng = clauses.rng
        self._templates = Choice(
            (
                self._district,
                self._village,
                self._population,
                self._person,
                self._birth,
                self._measure,
                self._species,
                self._work,
                self._building,
                self._economy,
                self._climate,
                self._institution,
                self._battle,
                self._term,
                self._province_known,
                self._distance,
            ),
            (7, 6, 4, 10, 9, 5, 6, 9, 8, 6, 3, 7, 6, 10, 7, 2),
        )

    def sentence(self) -> str:
        """One sentence, without the full stop."""
        return self._templates.pick(self.rng)()

    def _name(self, kind: str) -> Stem:
        return self.clauses.name(kind)

    def _is(self, word: Stem) -> str:
        return copula_of(word, "assertive").form

    def _count(self, low: int, high: int) -> str:
        exponent = self.rng.uniform(0, 1)
        value = int(low * (high / low) ** exponent)
        return f"{value:,}".replace(",", ".")

    def _of(self, kind: str, case: str = "gen") -> str:
        return with_case(self._name(kind), case).form

    def _district(self) -> str:
        adjective = self.clauses.adjective("town")
        return (
            (
                f"{self._name('district')}, {self._of('province')} {self.rng.choice(_DIRECTIONS)} "
                f"yer alan {adjective} bir ilçedir"
            )
            if self.clauses.chance(0.5)
            else (f"{self._name('district')}, {self._name('province')} ilinin bir ilçesidir")
        )

    def _village(self) -> str:
        village, district, province = map(self._name, ("village", "district", "province"))
        kind = self._is(Stem(*("köy",) * 2) if self.clauses.chance(0.7) else parse_stem("mahalle"))
        return f"{village}, {province} ilinin {district} ilçesine bağlı bir {kind}"

    def _population(self) -> str:
        place = self._of(self.rng.choice(("village", "district", "province")))
        year = self.rng.randrange(1965, 2023)
        verb = self.rng.choice(("kişidir", "olarak açıklanmıştır", "olarak sayılmıştır"))
        return f"{place} nüfusu {year} yılı sayımına göre {self._count(90, 900000)} {verb}"

    def _person(self) -> str:
        name, people = self.clauses.full_name(), self._name("people")
        first, second = self.clauses.root("person"), self.clauses.root("person")
        birth = self.clauses.year() - 30
        death = birth + self.rng.randrange(24, 90)
        dates = f" ({birth} – {death})," if self.clauses.chance(0.5) else ","
        title = f"{first} ve {self._is(second)}" if self.clauses.chance(0.5) else self._is(second)
        return f"{name}{dates} {people} {title}"

    def _birth(self) -> str:
        name, place = self.clauses.full_name(), self._of("province", "loc")
        year = self.clauses.year()
        job = noun(self.clauses.root("person")).form
        ending = self.rng.choice(
            (
                "dünyaya geldi",
                f"dünyaya gelen {self._name('people')} {job}, eğitimini "
                f"{self._of('country', 'loc')} tamamladı",
                f"doğdu ve {number(year + self.rng.randrange(25, 80), 'DA')} "
                f"{self._of('province', 'loc')} öldü",
                f"doğmuş, uzun yıllar {self.rng.choice(_JOBS)} yapmıştır",
            )
        )
        return f"{name}, {year} yılında {place} {ending}"

    def _measure(self) -> str:
        named = self.clauses.chance(0.6)
        place = self.clauses.place_name() if named else self.clauses.simple("place")
        measure, unit = self.rng.choice(_MEASURES)
        owned = noun(parse_stem(measure), possessor="3sg").form
        about = self.rng.choice(("", "yaklaşık", "ortalama", "en fazla"))
        amount = self._count(3, 9000)
        return join(place.case("gen"), owned, about, amount, self._is(parse_stem(unit)))

    def _species(self) -> str:
        kind = self.rng.choice(("animal", "plant"))
        first, second = self.clauses.root(kind), self.clauses.root(kind)
        where = Phrase("", self._name("feature")).case("loc")
        verb = "yaşayan" if kind == "animal" else "yetişen"
        family = noun(second, possessor=None).form
        return (
            f"{first}, {family} ailesinden, {where} {verb} {self.clauses.adjective('animal')} "
            f"bir {'hayvan' if kind == 'animal' else 'bitki'} türüdür"
        )

    def _work(self) -> str:
        author = with_case(self.clauses.full_name(), "gen").form
        art = self.rng.random() < 0.5
        work = noun(self.clauses.root("art" if art else "text"), possessor="3sg").form
        topic = self.clauses.simple("abstract").case("acc")
        year = self.rng.randrange(1900, 2023) if art else self.clauses.year()
        verb = self.rng.choice(("anlatır", "konu alır", "ele almaktadır", "işlemiştir"))
        return f"{author} {year} tarihli {work}, {topic} {verb}"

    def _building(self) -> str:
        place = self._of(self.rng.choice(("province", "district")), "loc")
        building = self.clauses.adjective("town") + " " + self.rng.choice(_LANDMARKS)
        who = join(self.clauses.full_name().form, "tarafından") if self.clauses.chance(0.5) else ""
        verb = self.rng.choice(("yaptırılmıştır", "inşa edilmiştir", "onarılmıştır", "yapılmıştır"))
        return join(place, "bulunan", building, f"{self.clauses.year()} yılında", who, verb)

    def _economy(self) -> str:
        place = self._of(self.rng.choice(("village", "district", "province")))
        kind = self.rng.choice(("food", "plant", "material", "animal"))
        first, second = self.clauses.root(kind).form, self.clauses.root(kind).form
        goods = f"{first} ve {second}" if first != second else first
        activity = {"plant": "yetiştiriciliğine", "animal": "besiciliğine"}.get(kind, "üretimine")
        verb = self.rng.choice(("dayanır", "dayanmaktadır", "bağlıdır"))
        return f"{place} ekonomisi {goods} {activity} {verb}"

    def _climate(self) -> str:
        place = Phrase("", self._name(self.rng.choice(("province", "feature", "district"))))
        seasons = ("Yazlar", "Kışlar", "Baharlar")
        season = self.rng.choice(seasons).lower()
        first = self.rng.choice(("sıcak", "soğuk", "ılık", "serin", "nemli"))
        second = self.rng.choice(("yağışlı", "kurak", "karlı", "rüzgârlı", "güneşli"))
        verb = self.rng.choice(("geçer", "olur", "geçmektedir"))
        return f"{place.case('loc')} {season} {first} ve {second} {verb}"

    def _institution(self) -> str:
        field = self.clauses.root("science" if self.clauses.chance(0.5) else "abstract").form
        kind = self.rng.choice(("derneği", "enstitüsü", "vakfı", "müzesi", "kurumu", "dergisi"))
        verb = self.rng.choice(("kuruldu", "kurulmuştur", "açıldı", "kapatıldı", "faaliyete geçti"))
        place = self._of("province", "loc")
        when = number(self.clauses.year(), "DA")
        return f"{self._name('people')} {field} {kind} {when} {place} {verb}"

    def _battle(self) -> str:
        year = self.clauses.year() - 200
        people, other = self._name("people"), self._name("people")
        place = with_case(self._name("feature"), "loc").form
        verb = self.rng.choice(("yenildi", "geri çekildi", "barış istedi", "zafer kazandı"))
        ruler = self.clauses.root("person").form
        return (
            f"{year} yılında {place} yapılan savaşta {people} ordusu {verb} ve {other} "
            f"{noun(parse_stem(ruler), possessor='3sg').form} "
            f"{self.rng.choice(('esir düştü', 'kaçtı', 'antlaşma imzaladı', 'hayatını kaybetti'))}"
        )

    def _term(self) -> str:
        field = with_case(self.clauses.root("science"), "loc").form
        term = self.clauses.root("matter" if self.clauses.chance(0.6) else "abstract").form
        event = self.clauses.event("science" if self.clauses.chance(0.6) else "society")
        what = self.rng.choice(("bir kavramdır", "bir yöntemdir", "bir olaydır", "bir ilkedir"))
        return join(f"{term},", field, event.verbal("subject"), what)

    def _province_known(self) -> str:
        place = self._name(self.rng.choice(("province", "district", "country")))
        kind = self.rng.choice(("food", "animal", "town", "plant"))
        known = noun(self.clauses.root(kind), plural=True, case="ins").form
        return f"{place}, {self.clauses.adjective(kind)} {known} {self.rng.choice(_KNOWN_FOR)}"

    def _distance(self) -> str:
        village, centre = self._name("village"), self._of("district", "dat")
        return (
            f"{village} köyünün {centre} uzaklığı {self._count(3, 90)} kilometre, "
            f"{self._of('province', 'dat')} uzaklığı ise {self._count(40, 300)} kilometredir"
        )
