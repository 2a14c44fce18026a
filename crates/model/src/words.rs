//! Enums of words: each variant with its spelling.

/// Declares the enum with `ALL`, its variants in order, and `word`, the spelling of each in responses and on the screen.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$about])* $variant),* }

        impl $name {
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}
