/**
 * Prometheus metrics in a registry of our own; every name begins with `postrider_`.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  readonly registry: Registry
  counter<L extends string = never>(name: string, help: string, labels?: readonly L[]): Counter<L>
  /** One label whose values are known: each has a zero from the start, so that its first one is an increase. */
  counterOf<V extends string>(
    name: string,
    help: string,
    label: string,
    values: Iterable<V>,
  ): (value: V, by?: number) => void
  gauge<L extends string = never>(name: string, help: string, labels?: readonly L[]): Gauge<L>
  /** Read when it is asked for; by label value. */
  gaugeOf<L extends string>(
    name: string,
    help: string,
    label: L,
    read: () => Readonly<Record<string, number>>,
  ): void
  /** Read when it is asked for; one figure. */
  gaugeRead(name: string, help: string, read: () => number): void
  /** Buckets in seconds; without them, from a millisecond to five minutes. */
  histogram<L extends string = never>(
    name: string,
    help: string,
    labels?: readonly L[],
    buckets?: readonly number[],
  ): Histogram<L>
  /** Adds the process's own figures (memory, CPU, event-loop lag). */
  collectProcess(): void
}

const SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
]

/** For requests to others: fine below the second that a good one takes, with their time-outs as edges. */
export const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60]

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const prefix = 'postrider_'
  return {
    registry,
    counter: (name, help, labels = []) =>
      new Counter({ name: prefix + name, help, labelNames: [...labels], registers }),
    counterOf(name, help, label, values) {
      const counter = new Counter({ name: prefix + name, help, labelNames: [label], registers })
      for (const value of values) counter.inc({ [label]: value }, 0)
      return (value, by) => counter.inc({ [label]: value }, by)
    },
    gauge: (name, help, labels = []) =>
      new Gauge({ name: prefix + name, help, labelNames: [...labels], registers }),
    gaugeOf(name, help, label, read) {
      new Gauge({
        name: prefix + name,
        help,
        labelNames: [label],
        registers,
        collect() {
          for (const [value, count] of Object.entries(read()))
            this.set({ [label]: value } as Record<typeof label, string>, count)
        },
      })
    },
    gaugeRead(name, help, read) {
      new Gauge({
        name: prefix + name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    },
    histogram: (name, help, labels = [], buckets = SECONDS) =>
      new Histogram({
        name: prefix + name,
        help,
        labelNames: [...labels],
        buckets: [...buckets],
        registers,
      }),
    collectProcess: () => collectDefaultMetrics({ register: registry, prefix }),
  }
}
