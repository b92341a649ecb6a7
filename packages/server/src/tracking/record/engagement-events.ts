/**
 * The events of tracking in wire form (docs/reference/events.md#tracking): the only place where this
 * capability writes their names.
 */
import type { Tracking } from '@postrider/contract'
import type { UserAgent } from '@postrider/mail'
import { formatMicros } from '../../platform/clock.ts'
import { type NewEvent, testMark } from '../../webhooks/index.ts'
import type { Location } from '../geoip/geoip.ts'
import type { JudgedHit, KnownHit } from '../intake/judge-hits.ts'

const EVENTS = {
  open: 'MAIL_OPENED',
  click: 'MAIL_CLICKED',
  unsubscribe: 'MAIL_UNSUBSCRIBED',
} as const

export interface ReadHit extends KnownHit {
  readonly userAgent: UserAgent
  /** Of clicks alone. */
  readonly url: string | undefined
}

export function engagementEvent(one: JudgedHit<ReadHit>, location: Location): NewEvent {
  const { hit, copy, verdict, userAgent, url } = one
  const { tenantId, refId, kind, atMicros } = hit
  const tracking = {
    time: formatMicros(atMicros),
    ip: hit.ip,
    user_agent: userAgent.text,
    browser_name: userAgent.browserName,
    browser_version: userAgent.browserVersion,
    os: userAgent.os,
    device_type: userAgent.deviceType,
    platform: userAgent.platform,
    ...(url === undefined ? {} : { url }),
    country: location.country,
    city: location.city,
    region: location.region,
    time_zone: location.timeZone,
    bot: verdict.isBot,
  } satisfies Tracking
  return {
    tenantId,
    refId,
    event: EVENTS[kind],
    success: true,
    eventAtMicros: atMicros,
    traceparent: copy.traceparent,
    details: {
      ref_id: refId,
      mailer_id: copy.mailerId,
      email: [copy.email],
      custom_args: copy.customArgs,
      message_id: copy.messageId,
      thread_id: '',
      tracking,
      failed_reason: '',
      ...testMark(copy.mailerId),
    },
  }
}
