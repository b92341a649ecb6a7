/** Numbers and times in the reader's language, by Intl. */
import { useMemo } from 'react'
import { type Language, useLanguage } from './language.ts'

const relativeUnits = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

const byteUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export type Format = ReturnType<typeof createFormat>

export function useFormat(): Format {
  const language = useLanguage()
  return useMemo(() => createFormat(language), [language])
}

export function createFormat(language: Language) {
  const locale = language === 'de' ? 'de' : 'en-GB'
  const integer = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 })
  const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'long' })
  const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
  const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' })
  const dayAndTime = new Intl.DateTimeFormat(locale, {
    ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  })
  const time = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' })
  const clock = new Intl.DateTimeFormat(locale, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  return {
    locale,
    integer: (value: number) => integer.format(value),
    /** `12.3K` */
    compact: (value: number) => compact.format(value),
    /** Of a fraction; a dash where there is nothing to divide by. */
    percent: (fraction: number | null | undefined) =>
      fraction === null || fraction === undefined ? '–' : percent.format(fraction),
    bytes(value: number) {
      // What is rounded up to 1,000 of a unit is one of the next.
      const larger = byteUnits.findIndex((_, power) => value < 999.95 * 1_000 ** power)
      const power = larger === -1 ? byteUnits.length - 1 : larger
      const unit = byteUnits[power]
      return new Intl.NumberFormat(locale, {
        ...{
          style: 'unit',
          unit,
          unitDisplay: power === 0 ? 'long' : 'short',
          maximumFractionDigits: power === 0 ? 0 : 1,
        },
      }).format(value / 1_000 ** power)
    },
    /** `1.2 s`, `350 ms`, `3 min` */
    duration(ms: number) {
      const [unit, size] =
        ms < 999.5
          ? (['millisecond', 1] as const)
          : ms < 59_950
            ? (['second', 1_000] as const)
            : ms < 59.95 * 60_000
              ? (['minute', 60_000] as const)
              : ms < 23.95 * 3_600_000
                ? (['hour', 3_600_000] as const)
                : (['day', 86_400_000] as const)
      const digits = unit === 'millisecond' ? 0 : 1
      return new Intl.NumberFormat(locale, {
        style: 'unit',
        unit,
        unitDisplay: unit === 'day' ? 'long' : 'short',
        maximumFractionDigits: digits,
      }).format(ms / size)
    },
    /** `3 minutes ago`, `in 2 hours`; of a time that is known to the hour, `this hour` */
    relative(at: Date, now: Date, least: 'second' | 'hour' = 'second') {
      const seconds = (at.getTime() - now.getTime()) / 1_000
      const [unit, size] = relativeUnits.find(
        ([name, one]) => Math.abs(seconds) >= one || name === least,
      ) ?? ['second', 1]
      return relative.format(Math.trunc(seconds / size), unit)
    },
    exact: (at: Date) => exact.format(at),
    day: (at: Date) => day.format(at),
    dayAndTime: (at: Date) => dayAndTime.format(at),
    /** `22:05` */
    time: (at: Date) => time.format(at),
    clock: (at: Date) => clock.format(at),
  }
}
