//! Defines what a definition is in each language.
//!
//! A table lists which syntax nodes define something, where their names are, and which file endings belong to which
//! language. To add a language, add a row, and a line in the tests.

use std::sync::OnceLock;

use tree_sitter::Language as Grammar;

/// A supported language.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    endings: &'static [&'static str],
    grammar: fn() -> Grammar,
    pub(crate) definitions: &'static [Definition],
}

/// A kind of node that defines something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub(crate) kind: &'static str,
    pub(crate) name: Name,
    pub(crate) scope: DefinitionScope,
    /// Words of the signature that are outside the node.
    pub(crate) prefix: &'static str,
}

/// Where the name of a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// In this field.
    Field(&'static str),
    /// In this field, but it is the name of another definition.
    Other(&'static str),
    /// At the end of the declarators, as in C; with `DeclaratorFilter::Functions`, only if one of them is a function.
    Declarator(DeclaratorFilter),
    /// In the field `name`, if the field `value` is a function or a class.
    Value,
    /// In the field `name`, if there is a field `body`.
    WithBody,
}

/// Which declarators are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeclaratorFilter {
    All,
    Functions,
}

/// Whether definitions inside this one belong to the outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefinitionScope {
    Open,
    Closed,
}

const fn closed(kind: &'static str) -> Definition {
    Definition { kind, name: Name::Field("name"), scope: DefinitionScope::Closed, prefix: "" }
}

const fn open(kind: &'static str) -> Definition {
    Definition { kind, name: Name::Field("name"), scope: DefinitionScope::Open, prefix: "" }
}

impl Definition {
    const fn named(self, name: Name) -> Self {
        Self { name, ..self }
    }

    const fn after(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }
}

const SCRIPT: &[Definition] = &[
    closed("function_declaration"),
    closed("generator_function_declaration"),
    open("class_declaration"),
    closed("method_definition"),
    closed("variable_declarator").named(Name::Value),
];

const TYPED_SCRIPT: &[Definition] = &[
    closed("function_declaration"),
    closed("generator_function_declaration"),
    closed("function_signature"),
    open("class_declaration"),
    open("abstract_class_declaration"),
    open("interface_declaration"),
    open("internal_module"),
    open("module"),
    closed("enum_declaration"),
    closed("type_alias_declaration"),
    closed("method_definition"),
    closed("method_signature"),
    closed("abstract_method_signature"),
    closed("variable_declarator").named(Name::Value),
];

const C: &[Definition] = &[
    closed("function_definition").named(Name::Declarator(DeclaratorFilter::All)),
    closed("declaration").named(Name::Declarator(DeclaratorFilter::Functions)),
    closed("type_definition").named(Name::Declarator(DeclaratorFilter::All)),
    closed("struct_specifier").named(Name::WithBody),
    closed("union_specifier").named(Name::WithBody),
    closed("enum_specifier").named(Name::WithBody),
    closed("preproc_function_def"),
];

const CPP: &[Definition] = &[
    closed("function_definition").named(Name::Declarator(DeclaratorFilter::All)),
    closed("declaration").named(Name::Declarator(DeclaratorFilter::Functions)),
    closed("field_declaration").named(Name::Declarator(DeclaratorFilter::Functions)),
    closed("type_definition").named(Name::Declarator(DeclaratorFilter::All)),
    open("class_specifier").named(Name::WithBody),
    open("struct_specifier").named(Name::WithBody),
    open("union_specifier").named(Name::WithBody),
    closed("enum_specifier").named(Name::WithBody),
    open("namespace_definition"),
    closed("alias_declaration"),
    closed("concept_definition"),
    closed("preproc_function_def"),
];

/// All supported languages.
pub(crate) static LANGUAGES: [Language; 9] = [
    Language {
        name: "Rust",
        endings: &["rs"],
        grammar: || tree_sitter_rust::LANGUAGE.into(),
        definitions: &[
            closed("struct_item"),
            closed("enum_item"),
            closed("union_item"),
            closed("type_item"),
            closed("const_item"),
            closed("static_item"),
            open("trait_item"),
            open("mod_item"),
            open("impl_item").named(Name::Other("type")),
            closed("function_item"),
            closed("function_signature_item"),
            closed("macro_definition"),
        ],
    },
    Language {
        name: "Python",
        endings: &["py", "pyi"],
        grammar: || tree_sitter_python::LANGUAGE.into(),
        definitions: &[open("class_definition"), closed("function_definition")],
    },
    Language {
        name: "JavaScript",
        endings: &["js", "jsx", "mjs", "cjs"],
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
        definitions: SCRIPT,
    },
    Language {
        name: "TypeScript",
        endings: &["ts", "mts", "cts"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        definitions: TYPED_SCRIPT,
    },
    Language {
        name: "TSX",
        endings: &["tsx"],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        definitions: TYPED_SCRIPT,
    },
    Language {
        name: "Go",
        endings: &["go"],
        grammar: || tree_sitter_go::LANGUAGE.into(),
        definitions: &[
            closed("function_declaration"),
            closed("method_declaration"),
            closed("type_spec").after("type "),
            closed("type_alias").after("type "),
        ],
    },
    Language {
        name: "Java",
        endings: &["java"],
        grammar: || tree_sitter_java::LANGUAGE.into(),
        definitions: &[
            open("class_declaration"),
            open("interface_declaration"),
            open("enum_declaration"),
            open("record_declaration"),
            open("annotation_type_declaration"),
            closed("method_declaration"),
            closed("constructor_declaration"),
        ],
    },
    Language { name: "C", endings: &["c", "h"], grammar: || tree_sitter_c::LANGUAGE.into(), definitions: C },
    Language {
        name: "C++",
        endings: &["cpp", "cc", "cxx", "hpp", "hh", "hxx", "ipp"],
        grammar: || tree_sitter_cpp::LANGUAGE.into(),
        definitions: CPP,
    },
];

/// Returns the index of a file's language in the table, by the file's ending.
pub(crate) fn of(path: &str) -> Option<usize> {
    let (_, ending) = path.rsplit_once('.')?;
    LANGUAGES.iter().position(|language| language.endings.contains(&ending))
}

/// A grammar with its rows of the table, indexed by the grammar's node kinds.
pub(crate) struct LoadedGrammar {
    pub(crate) grammar: Grammar,
    /// What each kind of node defines.
    pub(crate) definitions: Vec<Option<Definition>>,
    /// Whether each kind of node is a name.
    pub(crate) names: Vec<bool>,
}

impl LoadedGrammar {
    fn new(language: &Language) -> Self {
        let grammar = (language.grammar)();
        let kinds = (0..grammar.node_kind_count()).map(|id| u16::try_from(id).unwrap_or_default());
        let named = |id| grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id));
        let defines = |id| {
            let kind = named(id)?;
            language.definitions.iter().find(|definition| definition.kind == kind).copied()
        };
        let definitions = kinds.clone().map(defines).collect();
        let names = kinds.map(|id| named(id).is_some_and(|kind| kind.ends_with("identifier"))).collect();
        Self { grammar, definitions, names }
    }
}

/// The grammars, each loaded when first needed.
#[derive(Default)]
pub(crate) struct Grammars([OnceLock<LoadedGrammar>; LANGUAGES.len()]);

impl std::fmt::Debug for Grammars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Grammars")
    }
}

impl Grammars {
    /// Returns the grammar of a language by its index in the table.
    pub(crate) fn get(&self, language: usize) -> Option<&LoadedGrammar> {
        let (cell, language) = (self.0.get(language)?, LANGUAGES.get(language)?);
        Some(cell.get_or_init(|| LoadedGrammar::new(language)))
    }
}
