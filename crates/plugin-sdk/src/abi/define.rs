//! Macros that define each part of the interface once: the Rust item, and in tests its description, from which the C
//! header is made.

/// One part of the interface, as the header needs it.
#[cfg(test)]
pub(super) struct Described {
    /// The name in C.
    pub(super) name: &'static str,
    pub(super) docs: &'static [&'static str],
    pub(super) fields: &'static [DescribedField],
    pub(super) functions: &'static [DescribedFunction],
}

/// A field, or a constant with its value as type.
#[cfg(test)]
pub(super) struct DescribedField {
    pub(super) name: &'static str,
    pub(super) rust_type: &'static str,
    pub(super) docs: &'static [&'static str],
}

/// A function of a table, or a callback.
#[cfg(test)]
pub(super) struct DescribedFunction {
    pub(super) name: &'static str,
    pub(super) docs: &'static [&'static str],
    pub(super) arguments: &'static [(&'static str, &'static str)],
    pub(super) result: &'static str,
}

macro_rules! constants {
    ($item:ident: $($(#[doc = $doc:literal])* $name:ident: $type:ty = $value:expr, $c:literal;)*) => {
        $($(#[doc = $doc])* pub const $name: $type = $value;)*
        #[cfg(test)]
        const $item: &[(&str, i64, &[&str])] = &[$(($c, $name as i64, &[$($doc),*])),*];
    };
}

macro_rules! callback {
    ($item:ident, $c:literal: $(#[doc = $doc:literal])*
     pub type $name:ident = fn($($argument:ident: $type:ty),*);) => {
        $(#[doc = $doc])*
        pub type $name = unsafe extern "C" fn($($argument: $type),*);
        #[cfg(test)]
        const $item: define::Described = define::Described {
            name: $c,
            docs: &[$($doc),*],
            fields: &[],
            functions: &[define::DescribedFunction {
                name: $c, docs: &[], arguments: &[$((stringify!($argument), stringify!($type))),*], result: "",
            }],
        };
    };
}

macro_rules! record {
    ($item:ident, $c:literal: $(#[doc = $doc:literal])* $(#[derive($($derive:ident),*)])?
     pub struct $name:ident { $($(#[doc = $field_doc:literal])* $field:ident: $type:ty,)* }) => {
        $(#[doc = $doc])*
        $(#[derive($($derive),*)])?
        #[repr(C)]
        pub struct $name { $($(#[doc = $field_doc])* pub $field: $type,)* }
        #[cfg(test)]
        const $item: define::Described = define::Described {
            name: $c,
            docs: &[$($doc),*],
            fields: &[$(define::DescribedField {
                name: stringify!($field), rust_type: stringify!($type), docs: &[$($field_doc),*],
            }),*],
            functions: &[],
        };
    };
}

macro_rules! table {
    ($item:ident, $c:literal: $(#[doc = $doc:literal])*
     pub struct $name:ident {
        fields { $($(#[doc = $field_doc:literal])* $field:ident: $field_type:ty,)* }
        functions { $($(#[doc = $function_doc:literal])*
            fn $function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)* }
     }) => {
        $(#[doc = $doc])*
        #[repr(C)]
        pub struct $name {
            /// Bytes of this table, as far as its writer knows it.
            pub size: u32,
            /// The minor version its writer knows.
            pub abi_minor: u32,
            $($(#[doc = $field_doc])* pub $field: $field_type,)*
            $($(#[doc = $function_doc])*
            pub $function: Option<unsafe extern "C" fn($($argument: $type),*) $(-> $result)?>,)*
        }
        #[cfg(test)]
        const $item: define::Described = define::Described {
            name: $c,
            docs: &[$($doc),*],
            fields: &[
                define::DescribedField {
                    name: "size", rust_type: "u32", docs: &[" sizeof this table, as far as its writer knows it."],
                },
                define::DescribedField {
                    name: "abi_minor", rust_type: "u32", docs: &[" The minor version its writer knows."],
                },
                $(define::DescribedField {
                    name: stringify!($field), rust_type: stringify!($field_type), docs: &[$($field_doc),*],
                }),*
            ],
            functions: &[$(define::DescribedFunction {
                name: stringify!($function),
                docs: &[$($function_doc),*],
                arguments: &[$((stringify!($argument), stringify!($type))),*],
                result: concat!($(stringify!($result))?),
            }),*],
        };
    };
}
