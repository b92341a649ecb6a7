/** RFC 3339 times as requests write them. */
const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** undefined: not RFC 3339, or a day that does not exist. */
export function parseDateTime(text: string): Date | undefined {
  const [, year, month, day] = DATE_TIME.exec(text) ?? []
  if (day === undefined) return undefined
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  return Number(day) <= lastDay ? new Date(text.toUpperCase()) : undefined
}
