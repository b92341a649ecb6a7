/**
 * Times may be given as `Date` wherever an operation takes one: in a body JSON writes it as the
 * service reads it, in a query we do (docs/reference/http.md#times: RFC 3339 in UTC).
 */
import { invalidArgument } from './errors.ts'

/** The input of an operation, in which these may be a `Date` too. */
export type WithTimes<Input, Name extends keyof Input> = Omit<Input, Name> & {
  readonly [N in Name]: Input[N] | Date
}

/** JSON would make null of an invalid one. */
export function timeText(name: string, time: Date): string {
  if (Number.isNaN(time.getTime())) throw invalidArgument(`${name} is an invalid Date`)
  return time.toISOString()
}
