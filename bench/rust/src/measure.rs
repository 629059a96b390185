//! Rounds: the call in question and the hash take turns, so both have the same machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Of one sample, at least: long against the clock's resolution.
const SAMPLE: Duration = Duration::from_millis(1);

pub struct Effort {
    warm_up: Duration,
    budget: Duration,
    few_rounds: usize,
    max_rounds: usize,
}

impl Effort {
    pub const FULL: Self = Self { warm_up: Duration::from_millis(250), budget: Duration::from_secs(2), few_rounds: 9, max_rounds: 401 };
    /// Shows that it works; its figures mean nothing.
    pub const QUICK: Self = Self { warm_up: Duration::from_millis(1), budget: Duration::from_millis(10), few_rounds: 2, max_rounds: 5 };
}

pub struct Report {
    effort: Effort,
    cases: Vec<String>,
}

impl Report {
    pub fn new(effort: Effort) -> Self {
        Self { effort, cases: Vec::new() }
    }

    /// Measures a call beside the hash of `bytes`, which are those that it goes over.
    pub fn case<T>(&mut self, package: &str, what: &str, group_log: Option<u8>, bytes: &[u8], call: impl FnMut() -> T) {
        let (calls, hashes) = rounds(&self.effort, call, || blake3::hash(bytes));
        let group_log = group_log.map_or("null".into(), |log| log.to_string());
        self.cases.push(format!(
            "{{\"package\":\"{package}\",\"what\":\"{what}\",\"groupLog\":{group_log},\"bytes\":{},\"medians\":{{\"call\":{:.0},\"hash\":{:.0}}},\"samples\":{{\"call\":{},\"hash\":{}}}}}",
            bytes.len(), median(&calls), median(&hashes), list(&calls), list(&hashes)
        ));
    }

    pub fn json(&self) -> String {
        format!("[{}]", self.cases.join(",\n"))
    }
}

/// Nanoseconds per call of both, one of each per round.
fn rounds<A, B>(effort: &Effort, mut one: impl FnMut() -> A, mut other: impl FnMut() -> B) -> (Vec<f64>, Vec<f64>) {
    let one_calls = warmed_up(effort, &mut one);
    let other_calls = warmed_up(effort, &mut other);
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    let start = Instant::now();
    for round in 0..effort.max_rounds {
        if round >= effort.few_rounds && start.elapsed() > effort.budget {
            break;
        }
        if round % 2 == 0 {
            ones.push(per_call(&mut one, one_calls));
            others.push(per_call(&mut other, other_calls));
        } else {
            others.push(per_call(&mut other, other_calls));
            ones.push(per_call(&mut one, one_calls));
        }
    }
    (ones, others)
}

/// How many calls last long enough for a sample.
fn warmed_up<T>(effort: &Effort, call: &mut impl FnMut() -> T) -> u32 {
    let start = Instant::now();
    let mut calls = 1;
    loop {
        let ns = per_call(call, calls) * f64::from(calls);
        if ns < SAMPLE.as_nanos() as f64 / 2.0 {
            calls *= 2;
        } else if start.elapsed() >= effort.warm_up {
            return (f64::from(calls) * (SAMPLE.as_nanos() as f64 / ns).max(1.0)).ceil() as u32;
        }
    }
}

fn per_call<T>(call: &mut impl FnMut() -> T, calls: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

fn list(samples: &[f64]) -> String {
    format!("[{}]", samples.iter().map(|ns| format!("{ns:.0}")).collect::<Vec<_>>().join(","))
}
