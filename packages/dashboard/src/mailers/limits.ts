/** The limits of a mailer as they are typed: an empty field leaves what is usual. */
export const limitNames = [
  'per_second',
  'per_minute',
  'per_day',
  'connections',
  'messages_per_connection',
] as const
export type LimitName = (typeof limitNames)[number]
export type TypedLimits = Readonly<Partial<Record<LimitName, string>>>

/** Undefined: one of them is no whole number. Its bounds are the service's to say. */
export function readLimits(typed: TypedLimits): Partial<Record<LimitName, number>> | undefined {
  const given = limitNames.flatMap((name) => {
    const value = typed[name]?.trim() ?? ''
    return value === '' ? [] : [[name, value] as const]
  })
  if (given.some(([, value]) => !/^\d{1,12}$/.test(value))) return undefined
  return Object.fromEntries(given.map(([name, value]) => [name, Number(value)]))
}
