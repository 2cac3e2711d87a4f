use super::{host, patched};

#[test]
fn a_host_is_known_only_when_every_reader_agrees() {
    for (address, expected) in [
        ("https://example.com/a", Some("example.com")),
        ("HTTPS://Example.COM.", Some("example.com")),
        ("http://127.0.0.1:80/", Some("127.0.0.1")),
        ("https://a@b.c/", None),
        ("https://[::1]/", None),
        ("https://a.b:x/", None),
        ("https:///etc", None),
        ("https://a%2eb/", None),
        ("//a.b/", None),
        ("", None),
    ] {
        assert_eq!(host(address).as_deref(), expected, "{address}");
    }
}

#[test]
fn a_patch_names_every_file_it_could_touch() {
    let sections = "*** Begin Patch\n*** Add File: a\n+--- x\n*** Update File: b \n*** Move to: c\n@@\n-x\n+y\n*** End Patch";
    assert_eq!(patched(sections), ["a", "b", "c"]);
    let unified = "--- a/x\t2026\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/new\nrename from old\nrename to \"q\"\n";
    assert_eq!(patched(unified), ["x", "new", "old", "q"]);
    let unmarked = "--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n--- y\n+++ z\n--- alone\n";
    assert_eq!(patched(unmarked), ["a/x", "y", "z", "alone"]);
    assert!(patched("nothing").is_empty());
}
