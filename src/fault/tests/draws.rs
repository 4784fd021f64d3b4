use super::*;

fn share(seed: u64, fault: &str, arguments: &Value, occurrence: u32) -> f64 {
    draw(seed, &FaultDrawKey { fault, server: "s", method: "tools/call", tool: "get_user", arguments, occurrence })
}

#[test]
fn draws_depend_on_their_key_and_nothing_else() {
    let arguments = json!({"a": 1, "b": 2});
    let one = share(7, "slow", &arguments, 0);
    assert_eq!(one.to_bits(), share(7, "slow", &json!({"b": 2, "a": 1}), 0).to_bits());
    for other in [
        share(8, "slow", &arguments, 0),
        share(7, "lost", &arguments, 0),
        share(7, "slow", &json!({"a": 1}), 0),
        share(7, "slow", &arguments, 1),
    ] {
        assert_ne!(one.to_bits(), other.to_bits());
    }
}

#[test]
fn draws_are_spread_evenly() {
    let drawn: Vec<f64> = (0..10_000).map(|id| share(0, "slow", &json!({ "id": id }), 0)).collect();
    assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)));
    for tenth in 0..10 {
        let low = f64::from(tenth) / 10.0;
        let within = drawn.iter().filter(|number| (low..low + 0.1).contains(*number)).count();
        assert!((900..1100).contains(&within), "{within} of 10000 from {low}");
    }
}

/// Which calls are struck, whatever their order and whatever other faults there are.
#[test]
fn the_same_calls_are_struck_in_any_order() {
    let slow = fault("on: { method: tools/call, share: 0.2 }\nanswers: [never]").unwrap().with_draws(3, "s");
    let never = fault("on: { share: 0 }\nanswers: [never]").unwrap();
    let all = fault("on: { share: 1 }\nanswers: [never]").unwrap();
    let calls: Vec<(Value, Value)> =
        (0..200).map(|id| (json!({"call": "get_user", "args": {"id": id}}), text("Ann"))).collect();
    let struck = |calls: &[(Value, Value)], faults: &[&Fault]| {
        let scene = scene(calls);
        let known = scene.known();
        let mut struck: Vec<String> = (0..calls.len())
            .filter(|at| faults.iter().any(|fault| fault.strikes(*at, &known)))
            .map(|at| known.exchanges[at].params()["arguments"].to_string())
            .collect();
        struck.sort();
        struck
    };
    let in_order = struck(&calls, &[&slow]);
    assert!((20..60).contains(&in_order.len()), "{}", in_order.len());
    let backwards: Vec<(Value, Value)> = calls.iter().rev().cloned().collect();
    assert_eq!(in_order, struck(&backwards, &[&slow]));
    assert_eq!(in_order, struck(&calls, &[&never, &slow]));
    assert_ne!(in_order, struck(&calls, &[&slow.clone().with_draws(4, "s")]));
    assert_eq!(struck(&calls, &[&never]).len() + 200, struck(&calls, &[&all]).len());
}

/// The share of bursts is the one that was asked for, and their length is, too.
#[test]
fn bursts_strike_their_share() {
    for (share, length) in [(0.1, 1.0), (0.1, 8.0), (0.5, 4.0), (0.8, 4.0), (1.0, 4.0)] {
        let yaml = format!("on: {{ share: {share}, burst: {length} }}\nanswers: [never]");
        let fault = fault(&yaml).unwrap_or_else(|shown| panic!("{shown}"));
        let (chance, length) = fault.on.burst().unwrap();
        let mut states = Vec::new();
        for number in 1..=200_000 {
            states.push(chance.next_of_burst(length, states.last().copied(), number));
        }
        let struck = states.iter().filter(|state| **state).count();
        let bursts = 1 + states.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let (found, mean) = (struck as f64 / 200_000.0, struck as f64 / bursts as f64);
        assert!((found - share).abs() < 0.02, "{found} of {share} in bursts of {length}");
        assert!(share >= 1.0 || (mean / length - 1.0).abs() < 0.1, "{mean} of {length} at {share}");
    }
    assert!(fault("on: { share: 0.9, burst: 4 }\nanswers: [never]").unwrap_err().contains("at most 0.800"));
}
