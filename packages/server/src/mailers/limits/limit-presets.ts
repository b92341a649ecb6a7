/**
 * What large providers publish of their limits: taken where a mailer names none of its own. Beyond
 * them mail is refused, at some for good, and accounts are blocked; so it waits here instead.
 *
 * All of them count a day as the last 24 hours.
 */
import type { EffectiveDomainLimits, MailerLimits, RelayKind } from '@postrider/contract'

export interface LimitPreset {
  readonly host: RegExp
  /** Of the account, where the provider counts by its kind. */
  readonly username?: RegExp
  readonly limits: MailerLimits
}

/** The first that fits. */
export const LIMIT_PRESETS: readonly LimitPreset[] = [
  // Free accounts: 500 messages a day (support.google.com/mail/answer/22839).
  {
    host: /^smtp\.(gmail|googlemail)\.com$/,
    username: /@(gmail|googlemail)\.com$/i,
    limits: { connections: 5, per_day: 500 },
  },
  // Google Workspace: 2,000 messages a day (support.google.com/a/answer/166852).
  { host: /^smtp\.(gmail|googlemail)\.com$/, limits: { connections: 5, per_day: 2_000 } },
  // Exchange Online: 3 connections, 30 messages a minute, 10,000 recipients a day ("Improvements in
  // the SMTP authenticated submission client protocol", learn.microsoft.com). Each message of ours
  // has one recipient.
  {
    host: /^(smtp(-legacy)?\.office365\.(com|us)|smtp\.partner\.outlook\.cn)$/,
    limits: { connections: 3, per_minute: 30, per_day: 10_000 },
  },
  // Personal accounts: how many a day depends on the account and is not published.
  { host: /^smtp-mail\.outlook\.com$/, limits: { connections: 3, per_minute: 30 } },
  // SES: rate and quota are each account's own (docs.aws.amazon.com/ses, "Managing your Amazon SES
  // sending limits"), so none would be right for all; where it throttles, the mailer slows down.
  { host: /^email-smtp(-fips)?\.[a-z0-9-]+\.amazonaws\.com(\.cn)?$/, limits: { connections: 10 } },
]

/**
 * Of sending domains. SparkPost and SendGrid publish no rate that would be right for all accounts;
 * where they throttle, the mailer slows down. A request takes a few hundred milliseconds.
 */
export const RELAY_LIMITS: Readonly<Record<RelayKind, EffectiveDomainLimits>> = {
  sparkpost: { connections: 20 },
  sendgrid: { connections: 20 },
  simulator: { connections: 20 },
}
