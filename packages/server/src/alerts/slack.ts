/**
 * An alert as a message of Slack: `text` for notifications, `blocks` for the channel, within the lengths that
 * Slack takes (https://docs.slack.dev/reference/block-kit/blocks). What others have written, such as a server's
 * reply, stands in `plain_text`, where nothing is a mention or a link.
 */
import type { Alert, AlertKind } from '@postrider/contract'

export function isSlack({ hostname }: URL): boolean {
  return hostname === 'hooks.slack.com' || hostname === 'hooks.slack-gov.com'
}

const TITLES: Readonly<Record<AlertKind, string>> = {
  mailer_deactivated: 'Mailer deactivated',
  mailer_failing: 'Mailer fails',
  webhook_failing: 'Webhook fails',
  queue_late: 'Queue is late',
  bounce_rate: 'Many bounces',
  complaint_rate: 'Many complaints',
  quota_near: 'Quota nearly used',
  domain_invalid: 'Domain no longer verified',
  disk_full: 'Disk nearly full',
}

const HEADER_MAX = 150
const FIELDS_MAX = 10
/** Slack takes 2,000 of each; a channel wants fewer. */
const FIELD_MAX = 500

export function toSlack({ alert, state, subject, at, details }: Alert): object {
  const sign = state === 'begun' ? ':red_circle:' : ':large_green_circle:'
  const title = `${state === 'begun' ? '' : 'Over: '}${TITLES[alert]}`
  const fields = [['subject', subject], ...Object.entries(details)]
    .filter(([, value]) => value !== null && value !== '' && value !== undefined)
    .slice(0, FIELDS_MAX)
    .map(([name, value]) => plainText(`${String(name)}: ${textOf(value)}`, FIELD_MAX))
  return {
    text: escaped(cut(`${sign} ${title}: ${subject}`, FIELD_MAX)),
    blocks: [
      { type: 'header', text: plainText(`${sign} ${title}`, HEADER_MAX, true) },
      { type: 'section', fields },
      { type: 'context', elements: [plainText(`Postrider, ${at}`, FIELD_MAX)] },
    ],
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function plainText(text: string, lengthMax: number, emoji = false) {
  return { type: 'plain_text', text: cut(text, lengthMax), emoji }
}

function cut(text: string, lengthMax: number): string {
  const whole = text.toWellFormed()
  return whole.length <= lengthMax ? whole : `${whole.slice(0, lengthMax - 1).toWellFormed()}…`
}

/** The three characters by which mentions and links are made. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
