/**
 * Loaded before a process: its clock is `CLOCK_AHEAD_MS` milliseconds ahead of this machine's, and
 * leaps by a day when the process is told to, forward by SIGUSR2, back by SIGHUP.
 */
const DAY_MS = 86_400_000
const RealDate = Date
let aheadMs = Number(process.env.CLOCK_AHEAD_MS ?? 0)

const now = (): number => RealDate.now() + aheadMs
globalThis.Date = new Proxy(RealDate, {
  construct: (target, values: []) =>
    values.length === 0 ? new target(now()) : new target(...values),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})

const leap = (ms: number) => () => {
  aheadMs += ms
  process.stdout.write(`clock leapt by ${ms} ms\n`)
}
process.on('SIGUSR2', leap(DAY_MS))
process.on('SIGHUP', leap(-DAY_MS))
