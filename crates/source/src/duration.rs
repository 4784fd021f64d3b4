//! Durations as people write them: `250ms`, `10s`, `1.5s`, `2m`.

use std::time::Duration;

/// The longest duration, about a hundred years: clocks cannot count far beyond.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// Reads `250ms`, `10s`, `1.5s`, `2m` or `1h`; a bare number is refused, since nobody agrees on its unit, and so is more
/// than a hundred years.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let amount: f64 = text[..split].parse().ok()?;
    let seconds = match text[split..].trim() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(amount * seconds).ok().filter(|duration| *duration <= LONGEST)
}

/// Writes a duration the way a person would say it: `340 µs`, `12 ms`, `1.21 s`, `2 min 5 s`, `3 h 20 min`.
pub fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match duration.as_micros() {
        0..=999 => format!("{} µs", duration.as_micros()),
        1_000..=999_999 => format!("{} ms", duration.as_millis()),
        1_000_000..=59_999_999 if duration.subsec_millis() == 0 => format!("{} s", duration.as_secs()),
        1_000_000..=59_999_999 => format!("{seconds:.2} s"),
        3_600_000_000.. => format!("{} h {} min", duration.as_secs() / 3600, duration.as_secs() / 60 % 60),
        _ => format!("{} min {} s", duration.as_secs() / 60, duration.as_secs() % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_promises() {
        assert_eq!(parse_duration("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(parse_duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse_duration("2m"), Some(Duration::from_secs(120)));
        assert_eq!(parse_duration("876000h"), Some(Duration::from_secs(876_000 * 3600)));
        for wrong in
            ["10", "s", "-1s", "1 fortnight", "", "1e9999s", "99999999999999999999h", "5000000000000000h", "900000h"]
        {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn writes_like_a_person() {
        let shown: Vec<String> = [340, 12_000, 1_210_000, 10_000_000, 125_000_000, 12_000_000_000]
            .map(Duration::from_micros)
            .map(duration_text)
            .into();
        assert_eq!(shown, ["340 µs", "12 ms", "1.21 s", "10 s", "2 min 5 s", "3 h 20 min"]);
    }
}
