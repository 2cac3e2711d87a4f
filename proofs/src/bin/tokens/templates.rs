//! Words and templates of the texts. `⟨n⟩` is a noun, `⟨v⟩` a verb, `⟨s⟩` a name in snake case, `⟨c⟩` in
//! camel case, `⟨P⟩` the name of a type; the others are in `corpus::word`.

pub(crate) const NOUNS: &str = "account address answer batch branch buffer cache chapter child column connection \
    context counter customer deadline directory document editor element engine entry error event field file folder \
    garden header history index invoice journal kernel key label ledger letter limit line list map market matrix \
    message model module mountain name network node number object office order owner packet page parser path payment \
    permission picture pipeline policy price process product project queue record region register report request \
    result river schedule schema school segment server session signal snapshot socket station status storage stream \
    street summary symbol table target task template thread ticket timer token transaction tree value vector version \
    village visitor volume waiter weather window winter worker workspace";

pub(crate) const VERBS: &str = "accept add append apply assign attach balance build calculate call cancel change check \
    clear close collect compare compute copy count create decide decode delete deliver describe detect divide draw \
    drop encode enter expect explain export extend filter find finish follow format gather handle hold import insert \
    join keep load lock log make match measure merge move notice open order parse pause plan print publish push read \
    receive record refuse release remove rename render repeat replace report reset resolve restore return save scan \
    search select send share show shrink sort split start stop store submit sum swap take test track translate \
    update validate verify visit wait watch write";

pub(crate) const ADJECTIVES: &str = "active ancient average bare better blank bright broken careful cheap clean clear \
    closed cold common complete cool current dark deep default different distant early empty equal exact extra fast \
    final first fixed flat foreign former free fresh full general gentle global good great green hard heavy hidden \
    high hollow huge idle inner last late lazy left light local long loose low main minor missing mutable narrow new \
    next noisy old open optional outer pending plain private proper public quick quiet random raw ready recent remote \
    safe second secret shared short silent simple single slow small smooth soft stable stale steady strict strong \
    sudden temporary thick tiny total unique upper useful valid visible warm weak wide young";

pub(crate) const CHINESE: &str = "系统 模型 数据 用户 文件 会话 窗口 令牌 任务 结果 错误 请求 服务器 网络 存储 缓存 日志 \
    权限 工具 时间 项目 代码 函数 变量 测试 版本 配置 目录 内容 消息 计划 预算 城市 天气 学校 朋友 问题 方法 经验 \
    历史 语言 文化 市场 价格 公司 产品 客户 报告 会议 机会 环境 健康 交通 音乐 电影 早晨 夜晚";

pub(crate) const JAPANESE: &str = "システム モデル データ ユーザー ファイル 会話 画面 仕事 結果 エラー 要求 サーバー 通信 保存 \
    記録 権限 道具 時間 計画 関数 変数 試験 設定 内容 お知らせ 予算 町 天気 学校 友達 問題 方法 経験 歴史 言葉 文化 市場 \
    値段 会社 製品 お客様 報告書 会議 機会 環境 健康 交通 音楽 映画 朝 夜 プログラム バージョン ディレクトリ";

pub(crate) const KOREAN: &str = "시스템 모델 데이터 사용자 파일 대화 화면 작업 결과 오류 요청 서버 통신 저장소 기록 권한 도구 시간 \
    계획 함수 변수 시험 설정 내용 알림 예산 도시 날씨 학교 친구 문제 방법 경험 역사 언어 문화 시장 가격 회사 제품 고객 보고서 \
    회의 기회 환경 건강 교통 음악 영화 아침 저녁";

pub(crate) const RUST: &[&str] = &[
    "/// Returns the ⟨a⟩ ⟨n⟩ of a ⟨n⟩, or `None` when the ⟨n⟩ is ⟨a⟩.\npub fn ⟨s⟩(&self, ⟨n⟩: &⟨P⟩) -> Option<⟨P⟩> {\n    let ⟨s⟩ = self.⟨s⟩.get(&⟨n⟩.id())?;\n    if ⟨s⟩.len() > ⟨d⟩ {\n        return None;\n    }\n    Some(⟨P⟩::new(⟨s⟩.clone(), ⟨d⟩))\n}\n\n",
    "#[derive(Clone, Debug, PartialEq)]\npub struct ⟨P⟩ {\n    ⟨s⟩: Vec<⟨P⟩>,\n    ⟨s⟩: u64,\n    ⟨n⟩: Arc<str>,\n}\n\nimpl fmt::Display for ⟨P⟩ {\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {\n        write!(f, \"{}: {} of {}\", self.⟨n⟩, self.⟨s⟩, ⟨D⟩)\n    }\n}\n\n",
    "    match ⟨n⟩ {\n        ⟨P⟩::⟨N⟩ { ⟨n⟩, .. } if ⟨n⟩.is_empty() => self.⟨v⟩_⟨n⟩(),\n        ⟨P⟩::⟨N⟩ { ⟨n⟩, ⟨s⟩ } => {\n            self.⟨n⟩.push((⟨n⟩, ⟨s⟩ + 0x⟨d⟩));\n        }\n        _ => return Err(⟨P⟩Error::⟨N⟩(format!(\"cannot ⟨v⟩ the ⟨n⟩\"))),\n    }\n\n",
    "#[test]\nfn a_⟨a⟩_⟨n⟩_is_⟨a⟩() {\n    let mut ⟨n⟩ = ⟨P⟩::default();\n    for ⟨n⟩ in 0..⟨d⟩ {\n        ⟨n⟩.⟨v⟩(⟨d⟩).unwrap();\n    }\n    assert_eq!(⟨n⟩.⟨s⟩(), [⟨d⟩, ⟨d⟩, ⟨D⟩]);\n}\n\n",
];

pub(crate) const PYTHON: &[&str] = &[
    "def ⟨v⟩_⟨s⟩(⟨n⟩, ⟨n⟩=None, *, ⟨s⟩=⟨d⟩):\n    \"\"\"⟨N⟩ the ⟨a⟩ ⟨n⟩ and return its ⟨n⟩.\"\"\"\n    if not ⟨n⟩:\n        raise ValueError(f\"no ⟨n⟩ for {⟨n⟩!r}\")\n    return [⟨n⟩.⟨v⟩(⟨s⟩) for ⟨n⟩ in ⟨n⟩ if ⟨n⟩.⟨s⟩ > ⟨f⟩]\n\n\n",
    "class ⟨P⟩(⟨P⟩):\n    ⟨n⟩: int = ⟨d⟩\n    ⟨s⟩: dict[str, list[float]]\n\n    def __init__(self, ⟨n⟩: str, ⟨s⟩: bool = True) -> None:\n        super().__init__(⟨n⟩)\n        self._⟨s⟩ = ⟨s⟩\n        self.⟨n⟩ = {\"⟨n⟩\": ⟨d⟩, \"⟨s⟩\": \"⟨a⟩ ⟨n⟩\"}\n\n",
    "    try:\n        with open(os.path.join(⟨n⟩, \"⟨s⟩.json\"), encoding=\"utf-8\") as ⟨n⟩:\n            ⟨s⟩ = json.load(⟨n⟩)\n    except (OSError, KeyError) as error:\n        logger.warning(\"cannot ⟨v⟩ %s: %s\", ⟨n⟩, error)\n        ⟨s⟩ = {}\n    finally:\n        self.⟨v⟩()\n\n",
    "@pytest.mark.parametrize(\"⟨n⟩, expected\", [(⟨d⟩, ⟨f⟩), (⟨d⟩, None)])\ndef test_⟨s⟩_⟨v⟩(⟨n⟩, expected):\n    assert ⟨v⟩(⟨n⟩) == expected  # the ⟨a⟩ ⟨n⟩\n\n\n",
];

pub(crate) const JAVASCRIPT: &[&str] = &[
    "export async function ⟨c⟩(⟨n⟩, { ⟨n⟩ = ⟨d⟩, ⟨c⟩ } = {}) {\n  const ⟨c⟩ = await fetch(`/api/⟨n⟩/${⟨n⟩.id}?⟨n⟩=${⟨n⟩}`);\n  if (!⟨c⟩.ok) throw new Error(`Cannot ⟨v⟩ ⟨n⟩: ${⟨c⟩.status}`);\n  return (await ⟨c⟩.json()).⟨n⟩.map((⟨n⟩) => ⟨n⟩.⟨c⟩ ?? null);\n}\n\n",
    "class ⟨P⟩ extends ⟨P⟩ {\n  #⟨n⟩ = new Map();\n\n  get ⟨c⟩() {\n    return [...this.#⟨n⟩.values()].filter(({ ⟨n⟩ }) => ⟨n⟩ !== undefined);\n  }\n\n  ⟨c⟩(⟨n⟩) {\n    this.#⟨n⟩.set(⟨n⟩.⟨n⟩, { ...⟨n⟩, ⟨n⟩: Date.now() + ⟨D⟩ });\n  }\n}\n\n",
    "const ⟨c⟩ = useCallback((event) => {\n  event.preventDefault();\n  set⟨P⟩((⟨n⟩) => ({ ...⟨n⟩, ⟨c⟩: !⟨n⟩.⟨c⟩ }));\n}, [⟨n⟩, ⟨c⟩]);\n\nreturn <div className=\"⟨n⟩ ⟨a⟩-⟨n⟩\">{⟨c⟩.length > ⟨d⟩ ? <⟨P⟩ ⟨n⟩={⟨c⟩} /> : null}</div>;\n\n",
    "it('⟨v⟩s the ⟨a⟩ ⟨n⟩', () => {\n  expect(⟨c⟩({ ⟨n⟩: '⟨a⟩', ⟨c⟩: ⟨f⟩ })).toEqual(['⟨n⟩', ⟨d⟩]);\n});\n\n",
];

pub(crate) const GO: &[&str] = &[
    "// ⟨P⟩ ⟨v⟩s the ⟨a⟩ ⟨n⟩ of a ⟨n⟩.\nfunc (s *⟨P⟩) ⟨P⟩(ctx context.Context, ⟨n⟩ string) (*⟨P⟩, error) {\n\t⟨c⟩, err := s.⟨n⟩.⟨P⟩(ctx, ⟨n⟩, ⟨d⟩)\n\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"⟨v⟩ ⟨n⟩ %q: %w\", ⟨n⟩, err)\n\t}\n\treturn ⟨c⟩, nil\n}\n\n",
    "type ⟨P⟩ struct {\n\t⟨P⟩ string `json:\"⟨s⟩,omitempty\"`\n\t⟨P⟩ []⟨P⟩ `json:\"⟨s⟩\"`\n\tmu sync.RWMutex\n}\n\n",
    "\tfor i, ⟨n⟩ := range ⟨c⟩ {\n\t\tselect {\n\t\tcase <-ctx.Done():\n\t\t\treturn ctx.Err()\n\t\tcase s.⟨c⟩ <- ⟨P⟩{⟨N⟩: ⟨n⟩, Index: i + ⟨d⟩}:\n\t\t}\n\t}\n\n",
    "func Test⟨P⟩(t *testing.T) {\n\tgot := ⟨P⟩(\"⟨n⟩\", ⟨D⟩)\n\tif got != ⟨d⟩ {\n\t\tt.Fatalf(\"⟨n⟩ = %d, want ⟨d⟩\", got)\n\t}\n}\n\n",
];

pub(crate) const C: &[&str] = &[
    "/* ⟨N⟩ the ⟨a⟩ ⟨n⟩; returns -1 when there is none. */\nstatic int ⟨s⟩_⟨v⟩(struct ⟨s⟩ *⟨n⟩, const char *⟨n⟩, size_t len)\n{\n\tif (⟨n⟩ == NULL || len > MAX_⟨D⟩)\n\t\treturn -EINVAL;\n\tmemcpy(⟨n⟩->⟨s⟩, ⟨n⟩, len * sizeof(*⟨n⟩));\n\treturn 0;\n}\n\n",
    "struct ⟨s⟩ {\n\tuint32_t ⟨n⟩;\n\tunsigned char ⟨s⟩[⟨d⟩];\n\tstruct ⟨s⟩ *next;\n};\n\n#define ⟨N⟩_FLAGS (0x⟨d⟩ | (1u << ⟨d⟩))\n\n",
    "\twhile ((⟨n⟩ = ⟨s⟩_next(&⟨n⟩)) != NULL) {\n\t\tif (⟨n⟩->⟨n⟩ & 0x⟨d⟩)\n\t\t\tcontinue;\n\t\tfprintf(stderr, \"%s: cannot ⟨v⟩ ⟨n⟩ %zu\\n\", ⟨n⟩->name, ⟨n⟩->len);\n\t\tgoto out_⟨v⟩;\n\t}\n\n",
    "\tswitch (⟨n⟩->kind) {\n\tcase ⟨N⟩_⟨N⟩:\n\t\tret = ⟨s⟩_⟨v⟩(⟨n⟩, buf + ⟨d⟩, ⟨D⟩);\n\t\tbreak;\n\tdefault:\n\t\tassert(!\"⟨a⟩ ⟨n⟩\");\n\t}\n\n",
];

pub(crate) const PROSE: &[&str] = &[
    "The ⟨a⟩ ⟨n⟩ that we ⟨v⟩ every morning has become rather ⟨a⟩, although nobody in the ⟨n⟩ would ⟨v⟩ it without a ⟨n⟩. ",
    "When you ⟨v⟩ a ⟨n⟩, remember to ⟨v⟩ its ⟨a⟩ ⟨n⟩ first; otherwise the ⟨n⟩ will not ⟨v⟩, and you may have to ⟨v⟩ the whole ⟨n⟩ again. ",
    "Last year about ⟨d⟩ percent of the ⟨n⟩s were ⟨a⟩. Since then the ⟨n⟩ has changed: people ⟨v⟩ more often, they ask for a ⟨a⟩ ⟨n⟩, and the ⟨n⟩ can hardly ⟨v⟩ them.\n\n",
    "\"I did not ⟨v⟩ the ⟨n⟩,\" she said, \"but the ⟨a⟩ ⟨n⟩ by the ⟨n⟩ looked ⟨a⟩ enough to ⟨v⟩.\" He laughed and went on to ⟨v⟩ his ⟨n⟩. ",
    "## The ⟨a⟩ ⟨n⟩\n\nThere are three ways to ⟨v⟩ a ⟨n⟩:\n\n- ⟨v⟩ the ⟨n⟩ before it is ⟨a⟩,\n- ask the ⟨n⟩ to ⟨v⟩ it, or\n- leave the ⟨a⟩ ⟨n⟩ as it is and ⟨v⟩ later.\n\n",
    "Whoever wants to understand the ⟨n⟩ should first look at how its ⟨n⟩s ⟨v⟩ each other: slowly, in a ⟨a⟩ order, and never before the ⟨n⟩ is ⟨a⟩. ",
];

pub(crate) const JSON: &[&str] = &[
    "{\"id\":\"⟨x⟩\",\"⟨n⟩\":\"⟨a⟩ ⟨n⟩\",\"⟨s⟩\":⟨D⟩,\"⟨n⟩\":[⟨d⟩,⟨d⟩,⟨f⟩],\"⟨c⟩\":{\"⟨n⟩\":true,\"⟨n⟩\":null}}\n",
    "{\n  \"⟨n⟩\": {\n    \"⟨s⟩\": \"https://example.org/⟨n⟩/⟨d⟩?⟨n⟩=⟨n⟩\",\n    \"⟨c⟩\": [\"⟨n⟩\", \"⟨n⟩\", \"⟨a⟩-⟨n⟩\"],\n    \"⟨n⟩\": -⟨f⟩\n  },\n  \"time\": \"2026-0⟨d⟩-11T1⟨d⟩:22:33.⟨d⟩Z\"\n}\n",
    "[{\"name\":\"⟨P⟩\",\"type\":\"⟨n⟩\",\"size\":⟨D⟩},{\"name\":\"⟨s⟩.rs\",\"type\":\"file\",\"size\":⟨D⟩,\"hash\":\"⟨x⟩⟨x⟩\"}]\n",
];

pub(crate) const CJK: &[&str] = &[
    "我们需要检查⟨zh⟩的⟨zh⟩,因为昨天的⟨zh⟩没有通过。请先打开⟨zh⟩,然后修改⟨zh⟩。",
    "如果⟨zh⟩太大,⟨zh⟩就会变慢;因此应该把⟨zh⟩和⟨zh⟩分开保存,并且每天更新一次⟨zh⟩。\n",
    "在这个⟨zh⟩里,大家都在讨论新的⟨zh⟩:有人喜欢,也有人觉得⟨zh⟩更重要(共⟨d⟩项)。",
    "⟨ja⟩を確認してから⟨ja⟩を変更してください。昨日の⟨ja⟩では⟨ja⟩が見つかりませんでした。",
    "この⟨ja⟩は⟨ja⟩より速いですが、⟨ja⟩が必要なときは⟨d⟩回まで⟨ja⟩を繰り返します。\n",
    "⟨ko⟩을 먼저 확인한 다음 ⟨ko⟩를 바꾸어 주세요. 어제의 ⟨ko⟩에서는 ⟨ko⟩가 보이지 않았습니다. ",
    "새로운 ⟨ko⟩는 ⟨ko⟩보다 빠르지만, ⟨ko⟩이 필요할 때에는 ⟨d⟩번까지 다시 시도합니다.\n",
];
