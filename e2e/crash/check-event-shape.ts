/**
 * The published shape of MAIL_DELIVERED and SMTP_ERROR (docs/reference/events.md#fields), restated by hand.
 */
import type { DeliveredEvent } from './model.ts'

const TRACKING_TEXTS = [
  'time',
  'ip',
  'user_agent',
  'browser_name',
  'browser_version',
  'os',
  'device_type',
  'platform',
  'country',
  'city',
  'region',
  'time_zone',
] as const

const isText = (value: unknown): boolean => typeof value === 'string'
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 1

const ALWAYS: Readonly<Record<string, (value: unknown) => boolean>> = {
  ref_id: (value) => /^[0-9A-HJKMNP-TV-Z]{26}$/.test(String(value)),
  mailer_id: (value) => /^[a-z]+_[0-9A-HJKMNP-TV-Z]{26}$/.test(String(value)),
  email: (value) => Array.isArray(value) && value.length === 1 && isText(value[0]),
  custom_args: (value) => value === null || (typeof value === 'object' && !Array.isArray(value)),
  message_id: isText,
  thread_id: isText,
  webhook_id: (value) => /^wh_[0-9A-HJKMNP-TV-Z]{26}$/.test(String(value)),
  event_at: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(String(value)),
  tracking: isZeroTracking,
  failed_reason: isText,
}

const SEND_FAILURE: Readonly<Record<string, (value: unknown) => boolean>> = {
  attempt: isCount,
  max_attempts: isCount,
  retry_scheduled: (value) => typeof value === 'boolean',
}

/** What is wrong with it; empty when nothing is. */
export function checkEventShape(event: DeliveredEvent): string[] {
  const isFailure = event.event === 'SMTP_ERROR'
  const needed = isFailure ? { ...ALWAYS, ...SEND_FAILURE } : ALWAYS
  const { details } = event
  const faults = Object.entries(needed).flatMap(([name, fits]) =>
    fits(details[name]) ? [] : [`${name} is ${JSON.stringify(details[name])}`],
  )
  const optional = isFailure ? ['provider_error'] : []
  for (const name of Object.keys(details)) {
    if (!(name in needed) && !optional.includes(name)) faults.push(`${name} does not belong here`)
  }
  if (event.success !== !isFailure) faults.push(`success is ${JSON.stringify(event.success)}`)
  if (!isFailure && details.failed_reason !== '') faults.push('failed_reason on a success')
  if (isFailure && details.failed_reason === '') faults.push('no failed_reason')
  if (details.provider_error === '') faults.push('an empty provider_error, which is to be left out')
  return faults
}

function isZeroTracking(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const tracking = value as Record<string, unknown>
  const isComplete = TRACKING_TEXTS.every((name) => tracking[name] === '')
  return isComplete && tracking.bot === false && Object.keys(tracking).length === 13
}
