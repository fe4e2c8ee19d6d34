//! Lists of words by which approaches are told: what says nothing, what says the same, and what says the opposite.
//!
//! Owns the words alone, in English and Korean. It must not know how approaches are compared: that is [`super::approach`]'s.

/// Words that say nothing of an approach, since every approach is told with them.
pub(super) const SAID_OF_ALL: &str = "callback fix fixes fixing fixed rewrite rewrites turn turns solve resolve repair correct correctly properly update change modify edit \
     adjust alter code file function method class module component line test tests failing fails fail failed failure pass passes \
     passing issue bug problem error errors try attempt make makes made use uses using ensure so should need needs will would \
     can could may might must ought now we i let also when where while whenever wherever once if instead by all any each every \
     both new existing current currently order approach solution way means simply just first work works working implement \
     implementation logic behaviour behavior case cases value values set sets get gets does do did done doing be being been am \
     more other such their they these those than but out up over again still really actually have has having had give \
     gives put puts take takes through via per own after before about under upon within during between across inside ahead \
     prior toward towards along against there here what whose who how very too rather own one ones itself themselves \
     config configuration configure settings setting option come comes called absent missing exist exists 누락 빠진 \
     src lib py rs ts js tsx jsx go java cpp hpp kt rb css html yml yaml toml json cfg sql sh test_ spec mod index main s t \
     수정 고친 고치 해결 변경 바꾼 바꾸 바꿔 바뀌 한 하 함 할 해 해서 하기 하도록 되도록 코드 파일 함수 메서드 클래스 모듈 테스트 오류 에러 문제 \
     사용 이용 통해 그리고 대신 있 있는 있게 있으면 이미 함께 먼저 다시 모두 각 각각 매번 때 때마다 경우 후 전 전에 뒤 중 및 등 것 수 값 \
     설정 둔 두 쓰 쓴 써 위해 위한 대한 기준 부분 방식 방법 처리 구현 적용 실행 하나 한번 자체 그대로 계속 이후 이전 도입 \
     시 시킨 시켜 시키 준 주 되 된 될 돼 돌 돌린 돌려 만든 만들 보 본 가 이 그";

/// Units and numbers in letters: they count where both have them, as numbers in digits do.
pub(super) const OF_NUMBERS: &str = "two three four five six seven eight nine ten twenty thirty sixty hundred thousand twice double \
     triple ms msec second sec minute min hour day week month kb mb gb kib mib gib percent \
     초 분 시간 일 주 회 번 개 건 배 줄 두 세 네 다섯 열 백 천 만";

/// Pairs of words that are one word, and that word.
pub(super) const TOGETHER: &[(&str, &str, &str)] = &[
    ("turn", "on", "enable"),
    ("switch", "on", "enable"),
    ("turn", "off", "disable"),
    ("switch", "off", "disable"),
    ("get", "rid", "remove"),
    ("take", "out", "remove"),
    ("leave", "out", "exclude"),
    ("throw", "away", "remove"),
    ("no", "longer", "without"),
    ("fall", "back", "fallback"),
    ("falls", "back", "fallback"),
    ("falling", "back", "fallback"),
    ("give", "up", "stop"),
    ("roll", "back", "rollback"),
    ("time", "out", "timeout"),
    ("times", "out", "timeout"),
    ("look", "up", "lookup"),
    ("set", "up", "initialise"),
    ("back", "off", "backoff"),
    ("opt", "in", "enable"),
    ("opt", "out", "disable"),
    ("scale", "up", "increase"),
    ("scale", "down", "decrease"),
    ("up", "front", "eager"),
    ("in", "parallel", "parallel"),
    ("at", "once", "immediate"),
    ("지연", "로딩", "lazy"),
    ("사용하", "않", "unused"),
];

/// Words of which one turns an approach into the opposite of what the other says.
pub(super) const OPPOSITE: &[(&str, &str)] = &[
    ("add", "remove"),
    ("add", "exclude"),
    ("increase", "decrease"),
    ("increase", "remove"),
    ("enable", "disable"),
    ("enable", "remove"),
    ("show", "mask"),
    ("allow", "reject"),
    ("allow", "remove"),
    ("allow", "block"),
    ("extract", "inline"),
    ("split", "merge"),
    ("upgrade", "downgrade"),
    ("lock", "unlock"),
    ("pin", "unpin"),
    ("synchronous", "async"),
    ("sync", "async"),
    ("eager", "lazy"),
    ("before", "after"),
    ("strict", "loose"),
    ("start", "stop"),
    ("retry", "stop"),
    ("open", "close"),
    ("parallel", "serial"),
    ("parallel", "serially"),
    ("parallel", "sequential"),
    ("encode", "decode"),
    ("encode", "remove"),
    ("mock", "real"),
    ("own", "borrow"),
    ("push", "pull"),
    ("local", "global"),
    ("local", "utc"),
    ("relative", "absolute"),
    ("optimistic", "pessimistic"),
    ("foreground", "background"),
    ("round", "truncate"),
    ("visible", "hidden"),
    ("lowercase", "uppercase"),
    ("ascend", "descend"),
    ("cache", "uncached"),
    ("manual", "automatic"),
    ("single", "multiple"),
    ("memory", "disk"),
    ("server", "client"),
    ("encrypt", "decrypt"),
    ("serialise", "deserialise"),
    ("compress", "decompress"),
    ("mount", "unmount"),
    ("subscribe", "unsubscribe"),
    ("install", "uninstall"),
    ("static", "dynamic"),
    ("public", "private"),
    ("internal", "external"),
    ("mutable", "immutable"),
    ("shallow", "deep"),
    ("signed", "unsigned"),
    ("left", "right"),
    ("top", "bottom"),
    ("copy", "borrow"),
    ("catch", "propagate"),
    ("keep", "remove"),
    ("allowlist", "blocklist"),
    ("whitelist", "blacklist"),
    ("minimum", "limit"),
];

/// Endings of Korean words, the longer first among those that end alike.
pub(super) const ENDINGS: &[&str] = &[
    "시키도록",
    "하도록",
    "되도록",
    "도록",
    "시킨다",
    "시키고",
    "시켜서",
    "시키기",
    "합니다",
    "습니다",
    "됩니다",
    "한다",
    "했다",
    "하고",
    "하여",
    "해서",
    "하기",
    "하게",
    "하는",
    "하면",
    "하며",
    "하지",
    "된다",
    "되고",
    "되어",
    "되는",
    "되게",
    "되면",
    "됐다",
    "에서는",
    "에서도",
    "에서만",
    "에서",
    "에게",
    "에는",
    "으로는",
    "으로만",
    "으로",
    "까지",
    "부터",
    "마다",
    "보다",
    "처럼",
    "대로",
    "는다",
    "들",
    "을",
    "를",
    "이",
    "가",
    "은",
    "는",
    "의",
    "에",
    "로",
    "와",
    "과",
    "도",
    "만",
    "다",
    "고",
    "기",
    "한",
    "할",
    "해",
    "된",
    "될",
    "적",
    "으면",
    "면",
    "으며",
    "며",
    "게",
    "려고",
    "지만",
    "는지",
    "거나",
    "었다",
    "았다",
    "에만",
    "으로도",
    "이나",
    "씩",
];

/// Words of taking away. An approach that removes is another than one in which none of these is said.
pub(super) const OF_REMOVING: &str = "remove ignore exclude disable reject replace stop without not no instead rather never unused trim \
     sanitise mask prune move reset invalidate decrease cancel close out 않 없 없이 말 말고 대신";

/// Words of one syllable that keep their meaning where a particle is cut from them.
pub(super) const SHORT: &[&str] = &[
    "락", "키", "큐", "값", "글", "풀", "행", "열", "초", "분", "개", "번", "회", "건", "배", "줄",
    "앱", "웹", "폼", "탭", "훅", "목", "널", "끈", "켠", "둔", "준", "뺀", "쓴", "않", "없", "넣",
    "묶", "읽", "닫", "본", "띄", "수", "일", "주",
];

/// Words of what is done, each the first of its group. Two approaches of which each says some, and none that the other says, are
/// not one. What any approach may do on its way (add, call, read, write, create) is not among them.
pub(super) const ACTIONS: &str = "increase decrease remove replace retry cache lock check catch ignore convert wait mock enable disable \
     reject allow sanitise pin batch debounce sort dedupe limit parallel lazy encode decode log filter mask cancel stop merge \
     split compress exclude upgrade downgrade rename reuse share invalidate round truncate rotate flip move stream prune override \
     flush close fallback reset join import restart kill wrap delegate inline extract ask allocate poll publish \
     hardcode normalise isolate vectorise quantise subscribe";

/// Words that say how, or carry a sentence, rather than what: they count where both have them, as numbers do.
pub(super) const DETAILS: &str = "add call run read return keep build create start begin single only then later same whole early either \
     next last follow appropriate directly instead explicit explicitly no not cannot never without always already almost \
     element item object instance statement block expression operation thing piece part body place point way side \
     entry field property attribute variable list number name type string text data information result output input content \
     parameter parameters caller user client server system application app service program process job task \
     action actions send receive pass hold let have apply perform create produce provide generate support require \
     cover mark track know tell become remain want proper extra additional further least most much many few some any \
     small short long full big long-running simple safe certain separate specific particular given relevant \
     re pre non back down off away ready done them him her itself it too yet just \
     모든 더 쓰는 만든다 낸다 두고 두게 없이 않게 안 못 하나씩 한꺼번에 때문 여러 다른 같은 새 새로운 바로 아래 위 안에 밖 \
     추가 호출 반환 유지 시작 목록 대상 결과 상태 정보 내용";

/// Words that open a clause that says why, which counts where both say it.
pub(super) const OF_REASONS: &[&str] = &["so", "because", "since", "thereby", "hence"];

/// Syllables behind which the Korean ending for "and so" stands.
pub(super) const BEFORE_SO: &[char] = &[
    '려', '춰', '여', '켜', '꿔', '워', '눠', '써', '쳐', '꺼', '내', '겨', '져', '둬', '와', '라',
    '가', '어', '아', '해',
];

/// What is done by means of something, named by the thing: two approaches that share it share more than what they are about.
pub(super) const MECHANISMS: &str = "index transaction queue thread worker timeout hash regex pool background async synchronous lazy \
     eager session cookie header proxy buffer backoff exponential default constraint hook event middleware environment flag weight \
     fallback stack priority replica partition clock interrupt watch volatile barrier allocate template inline fold static \
     dynamic immutable stream encode compress upsert cursor affinity balance gateway role heartbeat poll publish subscribe mask \
     redirect navigate hardcode allowlist blocklist vectorise quantise regularise normalise augment isolate float16 float32 \
     interpolate align collide physics texture overlay warmup promise once build iterate recursion move copy add release \
     dither glob signal link schedule persist return initialise stage split sequential dependency null depth median keep call \
     optimistic pessimistic focus show render scroll compare compute round sign permission callback memory directory";
