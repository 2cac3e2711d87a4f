use super::*;

fn section(name: &str, place: SectionStability, text: &str) -> PromptSection {
    PromptSection::new(name, place, text)
}

#[test]
fn static_sections_come_first_in_any_input_order() {
    let prompt = SystemPrompt::of_sections(&[
        section("memory", SectionStability::SemiStatic, "Use tabs.\n"),
        section("base", SectionStability::Static, "Be brief."),
        section("date", SectionStability::Dynamic, "It is Monday."),
        section("empty", SectionStability::Static, " \n"),
        section("rules", SectionStability::Static, "Never push.\n\n"),
    ]);
    assert_eq!(prompt.as_str(), "Be brief.\n\nNever push.\n\nUse tabs.");
    assert_eq!(prompt.parts().collect::<Vec<_>>(), ["Be brief.\n\nNever push.\n\n", "Use tabs."]);
}

#[test]
fn parts_are_the_whole_text_and_none_is_blank() {
    let texts = ["", " ", "né", "日本\n"];
    for first in texts {
        for second in texts {
            let prompt = SystemPrompt::of_sections(&[
                section("a", SectionStability::Static, first),
                section("b", SectionStability::SemiStatic, second),
            ]);
            assert!(prompt.parts().all(|part| !part.trim().is_empty()), "{prompt:?}");
            let whole: String = prompt.parts().collect();
            assert_eq!(whole, prompt.as_str().trim(), "{first:?} {second:?}");
        }
    }
    assert!(SystemPrompt::default().is_blank());
    assert_eq!(SystemPrompt::default().parts().count(), 0);
}

#[test]
fn plain_text_is_one_part() {
    let prompt = SystemPrompt::from("Be brief.");
    assert_eq!(prompt.parts().collect::<Vec<_>>(), ["Be brief."]);
}
