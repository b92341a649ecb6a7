/**
 * Several projects of a run name the same global set-up. The first one makes what it makes, and the first that
 * ends takes it away: projects end together, after all tests.
 */
interface Made<T> {
  readonly value: T
  end(): Promise<void>
}

const MADE = Symbol.for('postrider.tests.made')

/** Each project loads its own copy of the set-up, so that no module can remember. */
export async function onceForARun<T>(name: string, make: () => Promise<Made<T>>): Promise<Made<T>> {
  const run = globalThis as { [MADE]?: Map<string, Promise<unknown>> }
  run[MADE] ??= new Map()
  const known = run[MADE]
  const made = (known.get(name) as Promise<Made<T>> | undefined) ?? make()
  known.set(name, made)
  const { value, end } = await made
  return {
    value,
    async end() {
      if (known.delete(name)) await end()
    },
  }
}
