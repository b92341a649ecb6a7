/** The time of whole microseconds since 1970, as SQL: a float would round them. `micros` is a parameter of text. */
export function timeOfMicros(micros: string): string {
  return `timestamptz '1970-01-01Z' + ${micros}::bigint * interval '1 microsecond'`
}
