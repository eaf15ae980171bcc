"""Sentences in several scripts, and lines made from them."""

from __future__ import annotations

import random

SENTENCES: dict[str, list[str]] = {
    "vietnamese": [
        "Sáng nay trời mưa to nên chúng tôi ở nhà uống trà.",
        "Chị gái tôi dạy toán ở một trường nhỏ gần bờ sông.",
        "Con mèo nằm ngủ trên chiếc ghế cũ bên cửa sổ.",
        "Người bán hàng gói bánh bằng lá chuối xanh.",
        "Ngày mai chúng ta sẽ đi tàu hỏa đến thành phố lớn.",
        "Ông nội kể chuyện cổ tích cho các cháu mỗi buổi tối.",
        "Quyển sách này dày quá, tôi đọc mãi chưa xong.",
        "Mùa hè năm ngoái nước sông dâng cao hơn mọi năm.",
    ],
    "czech": [
        "Příliš dlouhá zima letos zdržela práce na zahradě.",
        "Babička nám upekla švestkový koláč s drobenkou.",
        "Vlak do Ostravy má dnes zpoždění čtyřicet minut.",
        "Děti běžely přes louku a smály se na celé kolo.",
        "V knihovně jsem našel starou mapu našeho města.",
        "Ještě nevíme, kdo přijde na zítřejší schůzku.",
        "Řeka se po dešti rozvodnila a zaplavila hřiště.",
        "Můj soused chová včely a prodává výborný med.",
        "Kdyby nepršelo, šli bychom večer na procházku.",
        "Učitelka vysvětlila žákům, proč je obloha modrá.",
        "Žluťásek usedl na květ a zase rychle odlétl.",
        "Nejstarší dům ve vesnici má dřevěnou střechu.",
    ],
    "greek": [
        "Το πρωί πίνουμε καφέ στο μικρό μπαλκόνι.",
        "Η θάλασσα ήταν ήρεμη και το νερό ζεστό.",
        "Ο παππούς φύτεψε μια ελιά πίσω από το σπίτι.",
        "Τα παιδιά παίζουν μπάλα στην πλατεία του χωριού.",
        "Αύριο θα πάμε με το πλοίο στο διπλανό νησί.",
        "Δεν ξέρω πού έβαλα τα κλειδιά μου χθες.",
        "Η δασκάλα διάβασε ένα παραμύθι για έναν λύκο.",
        "Στην αγορά πουλούσαν φρέσκα ψάρια και λεμόνια.",
    ],
    "arabic": [
        "شربنا الشاي صباحا في الحديقة خلف البيت.",
        "قرأت البنت كتابا قديما وجدته عند جدتها.",
        "يتأخر القطار كثيرا في أيام الشتاء.",
        "سافر أخي إلى المدينة ليدرس الهندسة.",
        "كان البحر هادئا والسماء صافية جدا.",
        "يبيع الرجل الخبز والزيتون في السوق.",
        "طلبت المعلمة من الطلاب كتابة قصة قصيرة.",
        "نامت القطة طوال النهار قرب النافذة.",
    ],
    "hindi": [
        "सुबह हम खिड़की के पास बैठकर चाय पीते हैं।",
        "मेरी बहन गाँव के विद्यालय में गणित पढ़ाती है।",
        "रेलगाड़ी आज दो घंटे देर से पहुँची।",
        "बच्चे मैदान में क्रिकेट खेल रहे हैं।",
        "दादी ने हमें एक पुरानी कहानी सुनाई।",
        "बारिश के बाद नदी का पानी बहुत बढ़ गया।",
        "क्या आप मुझे स्टेशन का रास्ता बता सकते हैं?",
        "बाज़ार में ताज़े फल और सब्ज़ियाँ मिलती हैं।",
    ],
    "thai": [
        "เช้านี้ฝนตกหนักเราจึงอยู่บ้านดื่มชา",
        "พี่สาวของฉันสอนคณิตศาสตร์ที่โรงเรียนเล็กๆริมแม่น้ำ",
        "แมวนอนหลับอยู่บนเก้าอี้เก่าข้างหน้าต่าง",
        "พรุ่งนี้เราจะนั่งรถไฟไปเชียงใหม่",
        "คุณยายเล่านิทานให้หลานฟังทุกคืน",
        "ตลาดเช้าขายปลาสดผักและผลไม้มากมาย",
        "หนังสือเล่มนี้หนามากฉันยังอ่านไม่จบ",
        "เด็กๆวิ่งเล่นว่าวในทุ่งนาหลังเก็บเกี่ยว",
    ],
    "chinese": [
        "今天早上下了很大的雨，我们在家里喝茶。",
        "我的姐姐在河边的小学教数学。",
        "那只猫每天都在窗边的旧椅子上睡觉。",
        "明天我们坐火车去北京看朋友。",
        "奶奶每天晚上给孩子们讲故事。",
        "市场里有新鲜的鱼、蔬菜和水果。",
        "这本书太厚了，我还没有读完。",
        "孩子们在刚收割的田里放风筝。",
    ],
    "emoji": [
        "good morning 🌞 have some tea 🍵 and bread 🥖",
        "our family 👨‍👩‍👧‍👦 went to the beach 🏖️ today",
        "two flags 🇨🇿🇻🇳 hang over the small shop",
        "thumbs up 👍🏽 or down 👎🏿 for this film 🎬",
        "she is an astronaut 👩🏾‍🚀 and he is a cook 👨🏻‍🍳",
        "the cat 🐈‍⬛ sleeps 😴😴😴 near the window",
        "press 1️⃣ for tea and 2️⃣ for coffee ☕",
        "love ❤️‍🔥 from 🇬🇷 to 🇮🇱 with many thanks 🙏🏼",
        "rain 🌧️ then sun ☀️ then a rainbow 🌈",
        "the pirate flag 🏴‍☠️ flies over the old ship",
        "friends 👩‍❤️‍👨 dance 💃🏻🕺🏿 until the morning",
        "happy birthday 🎂🎉🎉 to my little sister 👧🏽",
    ],
    "mixed": [
        "Der Film „Солярис“ läuft heute im Kino Ελλάς.",
        "她说 hello 然后 привет 再说 γειά σου 。",
        "The word שלום means peace, سلام means the same.",
        "Version 2.0 der App unterstützt हिन्दी und ไทย.",
        "E=mc² gilt auch für Ω≈10⁻³ и для π≈3,14.",
        "我在 Hà Nội 吃了 phở bò，很好吃。",
        "Ａｌｌ ｗｉｄｅ letters, ﬁne ligatures and №5.",
        "Цена: 1\u00a0500\u00a0₽, or €15, or ₹1,300.",
        "https://example.org/路径?q=чай&lang=el",
        "naïve café — «цитата» — “quote” … 「引用」",
        "Привет 👋🏽 from Αθήνα 🇬🇷 and Praha 🇨🇿!",
        "C# ≠ C♯, x→y ⇒ ∀z∈ℝ, and ½ of ¾.",
    ],
}
WITHOUT_SPACES = ("thai", "chinese")


def lines_in(script: str, count: int = 150, seed: int = 1) -> list[str]:
    """Make `count` lines of a script: its sentences, then halves of two joined."""
    rng = random.Random(seed)
    sentences = SENTENCES[script]
    made = list(sentences)
    while len(made) < count:
        first, second = rng.sample(sentences, 2)
        joint = "" if script in WITHOUT_SPACES else " "
        words = list if script in WITHOUT_SPACES else str.split
        head, tail = words(first), words(second)
        made.append(joint.join(head[: len(head) // 2] + tail[len(tail) // 2 :]))
    return made
