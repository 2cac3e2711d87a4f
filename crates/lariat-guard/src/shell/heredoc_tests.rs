use super::is_plain_text;
use crate::shell::analyse;

#[test]
fn analyzes_plain_documents() {
    for text in [
        "cat <<EOF\nhello\nEOF",
        "cat << EOF\nhello $USER ${HOME} \\$(x)\nEOF\n",
        "cat <<'EOF'\n$(a) `b` \\\nEOF\nls",
        "cat <<\"E_1\" > f\n$(a)\nE_1",
        "cat <<-EOF | grep x\n\thello\n\tEOF",
        "cat > f <<'EOF'\nit's\nEOF\ncat f",
        "if true; then\ncat <<EOF\nx\nEOF\nfi",
        "cat <<E && ls\nx\nE\ncat <<E\ny\nE",
    ] {
        assert_eq!(analyse(text).doubts, [], "{text:?}");
    }
}

#[test]
fn doubts_other_documents() {
    for text in [
        "cat <<EOF\nEO\\\nF\ntouch x\nEOF",
        "cat <<-EOF\n\tEO\\\n\tF\ntouch x\n\tEOF",
        "cat <<EOF\na\\\nb\nEOF",
        "cat << -x\nx\n-x",
        "cat <<'-x'\nx\n-x",
        "echo $(cat << -x\nx\ntouch y\n-x\n)",
        "echo \"$(cat <<'EOF'\nx\nEOF\n)\"",
        "echo `cat <<'EOF'\nx\nEOF\n`",
        "cat <(cat <<EOF\nx\nEOF\n)",
        "cat <<A <<B\na\nA\nb\nB",
        "cat <<A; cat <<B\na\nA\nb\nB",
        "cat <<\\EOF\nx\nEOF",
        "cat <<E\"O\"F\nx\nEOF",
        "cat <<'E O'\nx\nE O",
        "cat <<$X\nx\n$X",
        "cat <<EOF\n$(a)\nEOF",
        "cat <<EOF\n${x:-$(a)}\nEOF",
        "cat <<EOF\n`a`\nEOF",
        "cat <<EOF\n$((x))\nEOF",
        "cat <<EOF 'a\nb'\nx\nEOF",
        "cat <<\\\nEOF\nx\nEOF",
        "cat <<EO\\\nF\nx\nEOF",
        "cat <<\tEOF\nx\nEOF",
        "cat <<EOF\nx\nEOF ",
        "cat <<EOF\nx",
    ] {
        assert_ne!(analyse(text).doubts, [], "{text:?}");
    }
}

#[test]
fn plain_text_has_no_expansions_that_run_something() {
    for text in ["", "a $x ${y} 5$ \\$(z) \\\\ it's", "costs $5.", "end$\n"] {
        assert!(is_plain_text(text), "{text:?}");
    }
    for text in ["$(x)", "`x`", "${x:-y}", "${!x}", "$((1))", "a\\\nb", "\\", "$[1]", "\\\\`x`"] {
        assert!(!is_plain_text(text), "{text:?}");
    }
}
