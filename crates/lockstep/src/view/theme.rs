//! Colours and signs, with and without colours.

use ratatui::style::{Color, Modifier, Style};

use super::scene::{State, Tone};

/// How things look. Without colours nothing is lost: signs and letters say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// Colours may be used.
    pub colour: bool,
}

/// The colours of roles, in the order of the set.
const ROLES: [Color; 6] =
    [Color::Cyan, Color::Magenta, Color::Blue, Color::LightGreen, Color::LightYellow, Color::LightRed];

impl Theme {
    fn fg(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Text of a tone.
    pub fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Good => self.fg(Color::Green),
            Tone::Warn => self.fg(Color::Yellow),
            Tone::Bad => self.fg(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Quiet => self.quiet(),
        }
    }

    /// Text that stays in the background.
    pub fn quiet(self) -> Style {
        self.fg(Color::DarkGray)
    }

    /// Text that stands out.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The name of a role, and its pods.
    pub fn role(self, place: Option<usize>) -> Style {
        place.map_or_else(|| self.quiet(), |place| self.fg(ROLES[place % ROLES.len()]))
    }

    /// An instance in a bar.
    pub fn state(self, state: State) -> Style {
        match state {
            State::New => self.fg(Color::Green),
            State::Coming => self.fg(Color::Yellow),
            State::Old => self.fg(Color::Blue),
            State::Broken | State::Leaving | State::Missing => self.fg(Color::Red),
        }
    }

    /// A pod on a node: a dot in the colour of its role, or without colours its letter, large if it is ready.
    pub fn pod(self, state: State, letter: char) -> String {
        match (state, self.colour) {
            (State::Leaving, _) => "×".to_owned(),
            (State::Broken, _) => "!".to_owned(),
            (State::New, true) => "●".to_owned(),
            (State::Old, true) => "◍".to_owned(),
            (State::Coming | State::Missing, true) => "○".to_owned(),
            (State::New | State::Old, false) => letter.to_uppercase().to_string(),
            (State::Coming | State::Missing, false) => letter.to_lowercase().to_string(),
        }
    }
}

/// The sign of an instance in a bar.
pub fn sign(state: State) -> &'static str {
    match state {
        State::New => "█",
        State::Coming => "▒",
        State::Old => "░",
        State::Broken => "!",
        State::Leaving => "×",
        State::Missing => "·",
    }
}
