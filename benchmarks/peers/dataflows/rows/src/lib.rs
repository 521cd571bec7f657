//! What all peers share: rows of a file, cut into steps; what enters and leaves windows; changes counted and summed.
//!
//! A peer is started as `PEER WORKLOAD FOLDER BATCH WINDOW...`, windows in microseconds, and reads `a.rows` and, where it is there,
//! `b.rows`: lines of three little-endian 64-bit integers, ts, k and v, in the order of ts. Told a number on its standard input, it
//! plays so many steps and answers with a line of JSON. A step brings `BATCH` rows of every stream, up to the least of their last
//! instants: what happens at that instant and later belongs to the next one.

use std::io::{stdin, BufRead};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpu_time::ProcessTime;

/// ts, k and v.
pub type Row = [i64; 3];

/// A row of a view, the instant at which it comes or goes, and how often.
pub type Change<D> = (D, i64, i64);

/// The rows of a stream that enter in a step, and by windows those that leave.
pub struct Step<'a> {
    pub until: i64,
    pub entering: Vec<&'a [Row]>,
    pub leaving: Vec<Vec<&'a [Row]>>,
}

pub struct Told {
    pub workload: String,
    pub windows: Vec<i64>,
    streams: Vec<Vec<Row>>,
    batch: usize,
}

impl Told {
    pub fn by_arguments() -> Told {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [workload, folder, batch, windows @ ..] = &words[..] else { panic!("usage: PEER WORKLOAD FOLDER BATCH WINDOW...") };
        let number = |word: &String| word.parse::<i64>().expect("a number");
        Told {
            workload: workload.clone(),
            windows: windows.iter().map(number).collect(),
            streams: ["a.rows", "b.rows"]
                .iter()
                .map(|name| Path::new(folder).join(name))
                .filter(|path| path.exists())
                .map(read)
                .collect(),
            batch: number(batch) as usize,
        }
    }

    /// Plays as many steps as it is told, again and again. `step` gives the changes of every view.
    pub fn play<D: Lanes>(&self, mut step: impl FnMut(&Step) -> Vec<Vec<Change<D>>>) {
        let mut steps = Steps::new(self);
        for line in stdin().lock().lines() {
            let count: usize = line.expect("text").trim().parse().expect("a number of steps");
            let (mut spent, mut rows, mut sums) = (Duration::ZERO, 0, Sums::default());
            for _ in 0..count {
                let next = steps.next().expect("there are no rows any more");
                rows += next.entering.iter().map(|rows| rows.len()).sum::<usize>();
                let started = ProcessTime::now();
                let changes = step(&next);
                spent += started.elapsed();
                for (view, changes) in changes.into_iter().enumerate() {
                    sums.add(view, changes);
                }
            }
            println!(
                "{{\"nanoseconds\": {}, \"rows\": {}, \"changes\": {}, \"checksum\": {}}}",
                spent.as_nanos(),
                rows,
                sums.changes,
                sums.checksum
            );
        }
    }
}

fn read(path: PathBuf) -> Vec<Row> {
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    bytes.chunks_exact(24).map(|line| [number(&line[..8]), number(&line[8..16]), number(&line[16..])]).collect()
}

struct Steps<'a> {
    told: &'a Told,
    done: usize,
    entered: Vec<usize>,
    left: Vec<Vec<usize>>,
}

impl<'a> Steps<'a> {
    fn new(told: &'a Told) -> Self {
        let none = vec![0; told.streams.len()];
        Steps { told, done: 0, entered: none.clone(), left: vec![none; told.windows.len()] }
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let told = self.told;
        self.done += 1;
        let lasts: Option<Vec<i64>> = told.streams.iter().map(|rows| Some(rows.get(self.done * told.batch - 1)?[0])).collect();
        let until = lasts?.into_iter().min()?;
        let pass = |places: &mut Vec<usize>, end: i64| {
            let one = |(rows, place): (&'a Vec<Row>, &mut usize)| {
                let first = *place;
                *place += rows[first..].iter().take_while(|row| row[0] < end).count();
                &rows[first..*place]
            };
            told.streams.iter().zip(places).map(one).collect()
        };
        let leaving = told.windows.iter().zip(&mut self.left).map(|(window, places)| pass(places, until - window)).collect();
        Some(Step { until, entering: pass(&mut self.entered, until), leaving })
    }
}

/// The integers of a row, one after the other.
pub trait Lanes: Ord {
    fn lanes(&self, lane: &mut impl FnMut(i64));
}

impl Lanes for i64 {
    fn lanes(&self, lane: &mut impl FnMut(i64)) {
        lane(*self);
    }
}

impl<A: Lanes, B: Lanes> Lanes for (A, B) {
    fn lanes(&self, lane: &mut impl FnMut(i64)) {
        self.0.lanes(lane);
        self.1.lanes(lane);
    }
}

/// How many rows come and go once changes of the same row at the same instant are one, and a sum over them.
#[derive(Default)]
struct Sums {
    changes: u64,
    checksum: u64,
}

impl Sums {
    fn add<D: Lanes>(&mut self, view: usize, mut changes: Vec<Change<D>>) {
        changes.sort_unstable();
        for same in changes.chunk_by(|one, other| (&one.0, one.1) == (&other.0, other.1)) {
            let weight: i64 = same.iter().map(|change| change.2).sum();
            self.changes += weight.unsigned_abs();
            self.checksum = self.checksum.wrapping_add(mixed(view, &same[0]).wrapping_mul(weight as u64));
        }
    }
}

fn mixed<D: Lanes>(view: usize, change: &Change<D>) -> u64 {
    let mut state = (change.1 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ view as u64;
    change.0.lanes(&mut |lane| {
        state = (state ^ lane as u64).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state ^= state >> 29;
    });
    state
}
