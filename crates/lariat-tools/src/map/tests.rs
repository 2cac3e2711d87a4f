//! Tests the table of languages, and the outlines of unusual sources.

use std::sync::Arc;

use super::{page, rank};
use crate::outline::language::{Grammars, LANGUAGES};
use crate::outline::{Outline, Outliner};

fn outlined(source: &[u8], language: &str) -> Outline {
    let grammars = Grammars::default();
    let place = LANGUAGES.iter().position(|known| known.name == language).unwrap();
    Outliner::new(&grammars).outline(source, place, &|| true).unwrap()
}

#[test]
fn every_table_row_is_a_node_kind_of_its_grammar() {
    let grammars = Grammars::default();
    for (place, language) in LANGUAGES.iter().enumerate() {
        let loaded = grammars.get(place).unwrap();
        for definition in language.definitions {
            let id = loaded.grammar.id_for_node_kind(definition.kind, true);
            assert_ne!(id, 0, "{} has no {}", language.name, definition.kind);
        }
        assert!(loaded.names.contains(&true), "{} has no names", language.name);
    }
}

#[test]
fn outlines_deeply_nested_source() {
    let deep = format!("fn f() {{ {}1{} }}\nfn g() {{}}\n", "(".repeat(100_000), ")".repeat(100_000));
    let signatures: Vec<_> =
        outlined(deep.as_bytes(), "Rust").definitions.into_iter().map(|defined| defined.signature).collect();
    assert_eq!(signatures, ["fn f()", "fn g()"]);
}

#[test]
fn cancelled_source_has_no_outline() {
    let grammars = Grammars::default();
    let long = "fn f() { g(1 + 2); }\n".repeat(20_000);
    let mut outliner = Outliner::new(&grammars);
    assert!(outliner.outline(long.as_bytes(), 0, &|| false).is_none());
    // The next source is parsed from its start.
    assert_eq!(outliner.outline(b"fn one() {}", 0, &|| true).unwrap().definitions.len(), 1);
}

fn files(sources: &[(&str, &str)]) -> Vec<(String, Arc<Outline>)> {
    let outline =
        |(path, source): &(&str, &str)| ((*path).to_owned(), Arc::new(outlined(source.as_bytes(), "Python")));
    sources.iter().map(outline).collect()
}

#[test]
fn rank_counts_only_mentions_in_other_files() {
    let files = files(&[
        ("loud.py", "def echo():\n    echo(echo(echo()))\n"),
        ("used.py", "def helper():\n    pass\n"),
        ("one.py", "helper()\nhelper()\n"),
        ("two.py", "helper()\n"),
    ]);
    let ranks = rank::rank(&files);
    assert_eq!(ranks.files[0], 0.0);
    assert!((ranks.files[1] - (2_f64.sqrt() + 1.0)).abs() < 1e-9, "{ranks:?}");
}

#[test]
fn ignores_names_that_many_files_define() {
    let defining = "def common_name():\n    pass\n";
    let mut sources: Vec<_> =
        ["a.py", "b.py", "c.py", "d.py", "e.py", "f.py", "g.py"].map(|path| (path, defining)).to_vec();
    sources.push(("z.py", "common_name()\n"));
    assert!(rank::rank(&files(&sources)).files.iter().all(|rank| *rank == 0.0));
    assert!(rank::rank(&files(&sources[5..])).files[0] > 0.0);
}

#[test]
fn shows_the_most_used_definitions_of_a_large_file() {
    let large: String = (0..100).map(|number| format!("def function_{number:03}():\n    pass\n")).collect();
    let files = files(&[("large.py", &large), ("user.py", "function_042()\nfunction_077()\n")]);
    let page = page::page(&files, &rank::rank(&files), 150);
    assert!(
        page.text.contains("85: def function_042()") && page.text.contains("155: def function_077()"),
        "{}",
        page.text
    );
    assert!(page.text.len() <= 600 && page.text.contains("more"), "{}", page.text);
}

/// The next pseudorandom number (SplitMix64).
fn spread(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ mixed >> 31) as usize
}

#[test]
fn outlines_every_mutated_source() {
    let sources: [(&str, &[u8]); 9] = [
        ("Rust", include_bytes!("../../tests/scenarios/map_rust/before/src/lib.rs")),
        ("Python", include_bytes!("../../tests/scenarios/map_python/before/shop/cart.py")),
        ("JavaScript", include_bytes!("../../tests/scenarios/map_javascript/before/web/app.mjs")),
        ("TypeScript", include_bytes!("../../tests/scenarios/map_typescript/before/src/store.ts")),
        ("TSX", include_bytes!("../../tests/scenarios/map_typescript/before/src/View.tsx")),
        ("Go", include_bytes!("../../tests/scenarios/map_go/before/server/server.go")),
        ("Java", include_bytes!("../../tests/scenarios/map_java/before/src/Shop.java")),
        ("C", include_bytes!("../../tests/scenarios/map_c/before/src/list.c")),
        ("C++", include_bytes!("../../tests/scenarios/map_cpp/before/src/shape.hpp")),
    ];
    let grammars = Grammars::default();
    let mut outliner = Outliner::new(&grammars);
    for seed in 0..900_u64 {
        let (language, source) = sources[seed as usize % sources.len()];
        let place = LANGUAGES.iter().position(|known| known.name == language).unwrap();
        let (mut bytes, mut state) = (source.to_vec(), seed);
        for _ in 0..=spread(&mut state) % 8 {
            let at = spread(&mut state) % bytes.len().max(1);
            let end = (at + spread(&mut state) % 30).min(bytes.len());
            match spread(&mut state) % 3 {
                0 => drop(bytes.drain(at..end)),
                1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = (state >> 8) as u8),
                _ => {
                    let copy = bytes[at..end].to_vec();
                    bytes.splice(at..at, copy);
                }
            }
        }
        let outline = outliner.outline(&bytes, place, &|| true);
        let outline = outline.unwrap_or_else(|| panic!("no outline for the mutant of seed {seed}"));
        for defined in &outline.definitions {
            assert!(
                !defined.signature.contains('\n') && defined.signature.len() < 700,
                "seed {seed}: {defined:?}"
            );
        }
    }
}
