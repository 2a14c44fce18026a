//! Single flight: what several ask for at once is done once. The first to join a flight leads it; the others leave word what to do when it
//! lands, so that none of them keeps a thread. Results and their cache belong to the leader.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{
        Mutex,
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};

use crate::locks::Locked as _;

/// Interval at which a caller that waits on its own thread checks whether it may go on.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Called when a flight ends: with its value, or with nothing if the leader was canceled, failed or panicked, so that another has to lead.
type Waiter<V> = Box<dyn FnOnce(Option<V>) + Send>;

/// What is being done, by key, and who waits for it.
pub struct Flights<K, V>(Mutex<HashMap<K, Vec<Waiter<V>>>>);

/// The exclusive right to do it. Ends on drop: also after failure, cancellation or panic, but then without a value.
pub struct Flight<'a, K: Eq + Hash, V: Clone> {
    flights: &'a Flights<K, V>,
    key: K,
    value: Option<V>,
}

impl<K: Clone + Eq + Hash, V: Clone + Send + 'static> Flights<K, V> {
    /// Gives the caller its `asker` back if it is the first and so leads. Otherwise, `done` is called with it when the flight ends.
    pub fn join<A: Send + 'static>(
        &self,
        key: &K,
        asker: A,
        done: impl FnOnce(A, Option<V>) + Send + 'static,
    ) -> Option<(Flight<'_, K, V>, A)> {
        let mut all = self.0.locked();
        if let Some(waiters) = all.get_mut(key) {
            waiters.push(Box::new(move |value| done(asker, value)));
            return None;
        }
        all.insert(key.clone(), Vec::new());
        let (key, value) = (key.clone(), None);
        let flights = self;
        Some((
            Flight {
                flights,
                key,
                value,
            },
            asker,
        ))
    }

    /// Like `join`, for a caller that has to wait on its own thread: returns the value, or the flight, which the caller then leads. Errors:
    /// those of `go_on`, which is called now and then.
    pub fn wait<E>(
        &self,
        key: &K,
        go_on: impl Fn() -> Result<(), E>,
    ) -> Result<Result<V, Flight<'_, K, V>>, E> {
        loop {
            let (sender, receiver) = channel();
            let joined = self.join(key, sender, |sender, value| drop(sender.send(value)));
            if let Some((flight, _)) = joined {
                return Ok(Err(flight));
            }
            loop {
                match receiver.recv_timeout(POLL_INTERVAL) {
                    Ok(Some(value)) => return Ok(Ok(value)),
                    Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => go_on()?,
                }
            }
        }
    }
}

impl<K: Eq + Hash, V: Clone> Flight<'_, K, V> {
    /// Ends the flight; every waiter gets the value.
    pub fn land(mut self, value: V) {
        self.value = Some(value);
    }
}

impl<K: Eq + Hash, V: Clone> Drop for Flight<'_, K, V> {
    fn drop(&mut self) {
        let waiters = self.flights.0.locked().remove(&self.key);
        for done in waiters.into_iter().flatten() {
            done(self.value.clone());
        }
    }
}

impl<K, V> Default for Flights<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K, V> fmt::Debug for Flights<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flights")
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    type Told = Arc<Mutex<Vec<(u8, Option<u8>)>>>;

    /// Whether the asker leads.
    fn joins<'a>(
        flights: &'a Flights<&'static str, u8>,
        key: &'static str,
        (asker, told): (u8, &Told),
    ) -> Option<Flight<'a, &'static str, u8>> {
        let told = Arc::clone(told);
        let done = move |asker, value| told.locked().push((asker, value));
        flights.join(&key, asker, done).map(|(flight, _)| flight)
    }

    #[test]
    fn who_joins_later_is_told_what_landed_or_that_nothing_did() {
        for value in [Some(7), None] {
            let (flights, told) = (Flights::default(), Told::default());
            let first = joins(&flights, "a", (1, &told)).expect("the first leads");
            assert!(joins(&flights, "a", (2, &told)).is_none());
            assert!(joins(&flights, "a", (3, &told)).is_none());
            assert!(joins(&flights, "b", (4, &told)).is_some(), "another flight");
            assert!(told.locked().is_empty());
            match value {
                Some(value) => first.land(value),
                None => drop(first),
            }
            assert_eq!(*told.locked(), [(2, value), (3, value)]);
            assert!(joins(&flights, "a", (5, &told)).is_some(), "it has ended");
        }
    }

    #[test]
    fn a_thread_that_waits_gets_the_value_or_leads_or_stops() {
        let flights: Flights<&str, u8> = Flights::default();
        let leads = || match flights.wait(&"a", || Ok::<_, ()>(())) {
            Ok(Err(flight)) => flight,
            _ => panic!("another leads"),
        };
        for value in [Some(7), None] {
            let flight = leads();
            assert!(flights.wait(&"a", || Err(())).is_err(), "it is canceled");
            thread::scope(|scope| {
                let waiting = scope.spawn(|| match flights.wait(&"a", || Ok::<_, ()>(())) {
                    Ok(Ok(value)) => Some(value),
                    _ => None,
                });
                while flights.0.locked().get("a").is_some_and(|all| all.len() < 2) {
                    thread::yield_now();
                }
                match value {
                    Some(value) => flight.land(value),
                    None => drop(flight),
                }
                assert_eq!(waiting.join().expect("no panic"), value);
            });
        }
    }
}
