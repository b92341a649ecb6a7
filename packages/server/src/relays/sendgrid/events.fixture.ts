/**
 * Reports of every kind in the form of SendGrid's Event Webhook: written for these tests from the
 * documented fields, with the identifiers' real shapes.
 */
export const fixtureRefId = '01JD3Z5V9S8QWERTY0ABCDEFGH'
export const fixtureMessageId = '9ZQe7FlVTp2sOx2Iwzu9DQ'

const event = (type: string, own: object = {}) => ({
  email: 'ann@example.org',
  timestamp: 1763719200,
  'smtp-id': `<${fixtureMessageId}@geopod-ismtpd-1>`,
  event: type,
  category: ['spring'],
  sg_event_id: `ZXZlbnQt${type}`,
  sg_message_id: `${fixtureMessageId}.recvd-5d8b8f9d7c-x7k2p-1-691F6A20-4.0`,
  postrider_ref: `${fixtureRefId}.3`,
  ...own,
})

const bounce = (own: object) =>
  event('bounce', { ip: '192.0.2.7', tls: 1, reason: '550 5.1.1 unknown', status: '5.1.1', ...own })
const dropped = (reason: string) => event('dropped', { reason, status: '5.0.0' })
const visit = { ip: '198.51.100.4', useragent: 'Mozilla/5.0 (X11)', asm_group_id: 10 }

export const fixtureEvents = {
  processed: event('processed', { pool: { name: 'main', id: 210 } }),
  delivered: event('delivered', { ip: '192.0.2.7', tls: 1, response: '250 2.0.0 OK' }),
  deferred: event('deferred', { attempt: '5', response: '451 4.7.1 try again later' }),
  bounce: bounce({ type: 'bounce', bounce_classification: 'Invalid Address' }),
  bounceOfContent: bounce({ type: 'bounce', bounce_classification: 'Content' }),
  blocked: bounce({ type: 'blocked', bounce_classification: 'Reputation' }),
  expired: bounce({ type: 'expired' }),
  bounceOfOld: bounce({}),
  bounceOfOldForNow: bounce({ status: '4.2.2' }),
  blockedOfOld: event('blocked', { reason: '451 busy', status: '5.0.0' }),
  delayedBounce: event('bounce', {
    type: 'bounce',
    reason: '550 no such user',
    'smtp-id': undefined,
    sg_message_id: undefined,
  }),
  droppedBounced: dropped('Bounced Address'),
  droppedUnsubscribed: dropped('Unsubscribed Address'),
  droppedComplained: dropped('Spam Reporting Address'),
  droppedInvalid: dropped('Invalid'),
  droppedSpam: dropped('Spam Content'),
  droppedQuota: dropped('Recipient List over Package Quota'),
  droppedByType: event('dropped', { type: 'Bounced Address', reason: 'not tried' }),
  spamreport: event('spamreport'),
  unsubscribe: event('unsubscribe'),
  groupUnsubscribe: event('group_unsubscribe', visit),
  groupResubscribe: event('group_resubscribe', visit),
  open: event('open', { ...visit, sg_machine_open: true }),
  click: event('click', { ...visit, url: 'https://example.com/' }),
  accountStatusChange: { event: 'account_status_change', timestamp: 1763719200, type: 'compliance_suspend', sg_event_id: 'YWNjb3VudA' },
  unknown: event('teleported'),
} // biome-ignore format: a table
