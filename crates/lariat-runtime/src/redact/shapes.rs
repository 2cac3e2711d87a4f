//! Lists the shapes of secrets that their issuers made recognisable.
//!
//! A text is searched for the signs first, and for the expressions only if it contains a sign. A shape belongs in the table
//! only if no everyday text has it: an issuer's prefix and the length of a random value, or the name of the setting.

/// The shape of one kind of secret.
pub(super) struct SecretShape {
    pub(super) name: &'static str,
    /// Every text of this shape contains one of these.
    pub(super) signs: &'static [&'static str],
    /// The group named `s` is the secret.
    pub(super) pattern: &'static str,
}

const fn shape(name: &'static str, signs: &'static [&'static str], pattern: &'static str) -> SecretShape {
    SecretShape { name, signs, pattern }
}

pub(super) const SHAPES: &[SecretShape] = &[
    shape("Anthropic key", &["sk-ant-"], r"\b(?<s>sk-ant-[A-Za-z0-9_-]{20,})"),
    shape(
        "OpenAI key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        r"\b(?<s>sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,})",
    ),
    shape("API key", &["sk-"], r"\b(?<s>sk-(?:or-v1-)?[A-Za-z0-9]{32,})\b"),
    shape(
        "GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?<s>gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})",
    ),
    shape(
        "GitLab token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-", "gloas-"],
        r"\b(?<s>gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-[A-Za-z0-9_-]{20,})",
    ),
    shape("Bitbucket token", &["ATBB"], r"\b(?<s>ATBB[A-Za-z0-9]{32})\b"),
    shape("Atlassian token", &["ATATT3"], r"\b(?<s>ATATT3[A-Za-z0-9_=-]{60,})"),
    shape("AWS key id", &["AKIA", "ASIA"], r"\b(?<s>(?:AKIA|ASIA)[A-Z2-7]{16})\b"),
    shape(
        "AWS secret key",
        &["ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey"],
        r"(?i-u:secret_?access_?key)[\x22\x27]?\s{0,4}[=:]\s{0,4}[\x22\x27]?(?<s>[A-Za-z0-9/+]{40})\b",
    ),
    shape(
        "AWS session token",
        &["ession_token", "ESSION_TOKEN", "essionToken"],
        r"(?i-u:session_?token)[\x22\x27]?\s{0,4}[=:]\s{0,4}[\x22\x27]?(?<s>[A-Za-z0-9/+=]{100,})",
    ),
    shape(
        "Azure key",
        &["AccountKey=", "SharedAccessKey="],
        r"\b(?:AccountKey|SharedAccessKey)=(?<s>[A-Za-z0-9/+]{40,}={0,2})",
    ),
    shape("Azure signature", &["sig="], r"[?&]sig=(?<s>[A-Za-z0-9%/+]{40,}={0,2})"),
    shape("Azure client secret", &["8Q~"], r"(?<s>[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{31,34})"),
    shape("Google key", &["AIza"], r"\b(?<s>AIza[A-Za-z0-9_-]{35})"),
    shape("Google token", &["ya29."], r"\b(?<s>ya29\.[A-Za-z0-9_-]{20,})"),
    shape("Google refresh token", &["1//0"], r"\b(?<s>1//0[A-Za-z0-9_-]{30,})"),
    shape("Google client secret", &["GOCSPX-"], r"\b(?<s>GOCSPX-[A-Za-z0-9_-]{20,})"),
    shape(
        "Slack token",
        &["xox", "xapp-"],
        r"\b(?<s>xox[abposre]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,})",
    ),
    shape(
        "Slack webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?<s>[A-Za-z0-9/]{20,})",
    ),
    shape("Discord webhook", &["/api/webhooks/"], r"/api/webhooks/(?<s>[0-9]{17,20}/[A-Za-z0-9_-]{40,})"),
    shape("Telegram token", &[":AA"], r"\b(?<s>[0-9]{8,10}:AA[A-Za-z0-9_-]{33})"),
    shape("SendGrid key", &["SG."], r"\b(?<s>SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"),
    shape("Vault token", &["hvs.", "hvb.", "hvr."], r"\b(?<s>hv[sbr]\.[A-Za-z0-9_-]{24,})"),
    shape("Terraform token", &[".atlasv1."], r"\b(?<s>[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,})"),
    shape("DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"\b(?<s>do[opr]_v1_[a-f0-9]{64})\b"),
    shape(
        "age key",
        &["AGE-SECRET-KEY-", "AGE-PLUGIN-"],
        r"\b(?<s>AGE-(?:SECRET-KEY-1|PLUGIN-[A-Z0-9]{1,30}-1)[0-9A-Z]{40,})",
    ),
    shape("npm token", &["npm_"], r"\b(?<s>npm_[A-Za-z0-9]{36})\b"),
    shape("npm credential", &["_auth"], r"_auth(?:Token)?\s{0,2}=\s{0,2}[\x22]?(?<s>[A-Za-z0-9+/=_-]{16,})"),
    shape("PyPI token", &["pypi-"], r"\b(?<s>pypi-AgE[A-Za-z0-9_-]{50,})"),
    shape("RubyGems key", &["rubygems_"], r"\b(?<s>rubygems_[a-f0-9]{48})\b"),
    shape("crates.io token", &["cio"], r"\b(?<s>cio[A-Za-z0-9]{32})\b"),
    shape("Docker token", &["dckr_pat_", "dckr_oat_"], r"\b(?<s>dckr_[po]at_[A-Za-z0-9_-]{20,})"),
    shape("Hugging Face token", &["hf_"], r"\b(?<s>hf_[A-Za-z0-9]{34,})\b"),
    shape("Groq key", &["gsk_"], r"\b(?<s>gsk_[A-Za-z0-9]{40,})\b"),
    shape("xAI key", &["xai-"], r"\b(?<s>xai-[A-Za-z0-9]{40,})\b"),
    shape("Perplexity key", &["pplx-"], r"\b(?<s>pplx-[A-Za-z0-9]{40,})\b"),
    shape("Replicate token", &["r8_"], r"\b(?<s>r8_[A-Za-z0-9]{37,})\b"),
    shape("Nvidia key", &["nvapi-"], r"\b(?<s>nvapi-[A-Za-z0-9_-]{40,})"),
    shape("Cerebras key", &["csk-"], r"\b(?<s>csk-[a-z0-9]{40,})\b"),
    shape("LangSmith key", &["lsv2_"], r"\b(?<s>lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10})\b"),
    shape(
        "Stripe key",
        &["k_live_", "whsec_"],
        r"\b(?<s>[sr]k_live_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9+/]{30,})",
    ),
    shape(
        "Square token",
        &["sq0", "EAAA"],
        r"\b(?<s>sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{60})",
    ),
    shape(
        "Shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"\b(?<s>shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})\b",
    ),
    shape("Linear key", &["lin_api_"], r"\b(?<s>lin_api_[A-Za-z0-9]{40})\b"),
    shape("Notion token", &["ntn_"], r"\b(?<s>ntn_[A-Za-z0-9]{40,})\b"),
    shape("Databricks token", &["dapi"], r"\b(?<s>dapi[a-f0-9]{32})(?:-[0-9])?\b"),
    shape(
        "Grafana token",
        &["glsa_", "glc_ey"],
        r"\b(?<s>glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_ey[A-Za-z0-9+/=]{30,})",
    ),
    shape("New Relic key", &["NRAK-"], r"\b(?<s>NRAK-[A-Z0-9]{27})\b"),
    shape("Sentry token", &["sntrys_", "sntryu_"], r"\b(?<s>sntry[su]_[A-Za-z0-9+/=_-]{40,})"),
    shape("PlanetScale token", &["pscale_"], r"\b(?<s>pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,})"),
    shape("Supabase token", &["sbp_"], r"\b(?<s>sbp_[a-f0-9]{40})\b"),
    shape("Fly token", &["fm2_", "fo1_"], r"\b(?<s>fm2_[A-Za-z0-9+/=]{40,}|fo1_[A-Za-z0-9_-]{40,})"),
    shape("Netlify token", &["nfp_"], r"\b(?<s>nfp_[A-Za-z0-9]{36,})\b"),
    shape(
        "Doppler token",
        &["dp.pt.", "dp.st.", "dp.sa.", "dp.ct."],
        r"\b(?<s>dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9._-]{40,})",
    ),
    shape("Postman key", &["PMAK-"], r"\b(?<s>PMAK-[a-f0-9]{24}-[a-f0-9]{34})\b"),
    shape(
        "signed token",
        &["eyJ"],
        r"\b(?<s>eyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})",
    ),
    shape(
        "private key",
        &["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"],
        r"(?<s>-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.)*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z))",
    ),
    shape(
        "bearer token",
        &["uthorization", "UTHORIZATION"],
        r"(?i-u:\bauthorization\b)[^\w\n]{1,8}(?i-u:bearer|basic)\s+(?<s>[A-Za-z0-9._~+/=-]{16,})",
    ),
    shape(
        "password",
        &["://"],
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\x27\x22]{1,100}:(?<s>[^\s/@\x27\x22]{4,200})@",
    ),
];
