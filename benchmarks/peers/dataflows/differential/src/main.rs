//! Differential dataflow: one worker, changes of every instant. What enters and leaves windows is fed a step at a time.

use std::cell::RefCell;
use std::rc::Rc;

use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::operators::{CountTotal, ThresholdTotal};
use differential_dataflow::{ExchangeData, VecCollection};
use rows::{Change, Lanes, Step, Told};
use timely::dataflow::operators::probe::Handle;
use timely::worker::Worker;

type Instant = i64;
type Pairs<'scope> = VecCollection<'scope, Instant, (i64, i64), i64>;
type View<'scope, D> = VecCollection<'scope, Instant, D, i64>;

const TOP: usize = 10;
const BUCKETS: [i64; 3] = [256, 16, 1];

fn main() {
    let told = Told::by_arguments();
    match told.workload.as_str() {
        "count and sum" => play(told, |a, _| sums(a)),
        "join" | "8 joins at once" => play(told, |a, b| a.join_map(b, |k, v, w| (*k, (*v, *w)))),
        "distinct" => play(told, |a, _| a.map(|(k, _)| k).threshold_total(|_, count| (*count > 0) as i64)),
        "except all" => {
            play(told, |a, b| a.map(|(k, _)| k).concat(b.map(|(k, _)| k).negate()).threshold_total(|_, count| *count.max(&0)))
        }
        "median per key" => play(told, |a, _| a.reduce(|_, values, out| out.push((twice_the_median(values), 1)))),
        "top 10 of sums" => play(told, |a, _| top(sums(a).map(|(k, (_, s))| (k, s)))),
        "min and max" => play(told, |a, _| a.reduce(|_, values, out| out.push(((*values[0].0, *values[values.len() - 1].0), 1)))),
        other => panic!("there is no workload {other}"),
    }
}

/// Counts and sums are differences, so that nothing is kept of a row but what it adds.
fn sums<'scope>(rows: Pairs<'scope>) -> View<'scope, (i64, (i64, i64))> {
    rows.explode(|(k, v)| Some((k, (1, v)))).count_total_core()
}

fn twice_the_median(values: &[(&i64, i64)]) -> i64 {
    let count: i64 = values.iter().map(|(_, times)| times).sum();
    nth(values, (count - 1) / 2) + nth(values, count / 2)
}

fn nth(values: &[(&i64, i64)], mut place: i64) -> i64 {
    for (value, times) in values {
        if place < *times {
            return **value;
        }
        place -= times;
    }
    unreachable!("fewer values than were counted")
}

/// The best of every bucket, then the best of them in fewer buckets: a change is compared with few others at every level.
fn top<'scope>(sums: View<'scope, (i64, i64)>) -> View<'scope, (i64, i64)> {
    let mut best = sums.map(|(k, s)| (-s, k));
    for buckets in BUCKETS {
        best = best
            .map(move |(least, k)| (k.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64).rem_euclid(buckets), (least, k)))
            .reduce(|_, sums, out| out.extend(sums.iter().take(TOP).map(|(sum, times)| (**sum, *times))))
            .map(|(_, sum)| sum);
    }
    best.map(|(least, k)| (k, -least))
}

/// Inputs of one window.
struct Inputs {
    streams: Vec<InputSession<Instant, (i64, i64), i64>>,
}

impl Inputs {
    fn feed(&mut self, step: &Step, window: usize, size: i64) {
        for (input, (entering, leaving)) in self.streams.iter_mut().zip(step.entering.iter().zip(&step.leaving[window])) {
            for [ts, k, v] in *entering {
                input.update_at((*k, *v), *ts, 1);
            }
            for [ts, k, v] in *leaving {
                input.update_at((*k, *v), ts + size, -1);
            }
        }
        for input in &mut self.streams {
            input.advance_to(step.until);
            input.flush();
        }
    }
}

/// Where the changes of a view are delivered.
type Reader<D> = Rc<RefCell<Vec<Change<D>>>>;

fn play<D: Lanes + ExchangeData>(
    told: Told,
    query: impl for<'scope> Fn(Pairs<'scope>, Pairs<'scope>) -> View<'scope, D> + Send + Sync + 'static,
) {
    timely::execute_directly(move |worker| {
        let probe = Handle::new();
        let (mut inputs, readers): (Vec<Inputs>, Vec<Reader<D>>) =
            told.windows.iter().map(|_| build(worker, &query, &probe)).unzip();
        told.play(|step| {
            for (window, size) in told.windows.iter().enumerate() {
                inputs[window].feed(step, window, *size);
            }
            worker.step_while(|| probe.less_than(&step.until));
            readers.iter().map(|reader| reader.take()).collect()
        });
    });
}

fn build<D: Lanes + ExchangeData>(
    worker: &mut Worker,
    query: &impl for<'scope> Fn(Pairs<'scope>, Pairs<'scope>) -> View<'scope, D>,
    probe: &Handle<Instant>,
) -> (Inputs, Reader<D>) {
    worker.dataflow(|scope| {
        let ((a_input, a), (b_input, b)) = (scope.new_collection(), scope.new_collection());
        let reader = Reader::default();
        let delivered = reader.clone();
        query(a, b)
            .inspect_container(move |event| {
                if let Ok((_, changes)) = event {
                    delivered.borrow_mut().extend_from_slice(changes);
                }
            })
            .probe_with(probe);
        (Inputs { streams: vec![a_input, b_input] }, reader)
    })
}
