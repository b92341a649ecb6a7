/** A received message in wire form (docs/reference/events.md#incoming-email). */
import type { InboundMessage } from '@postrider/contract'
import type { StoredMessage } from './message-store.ts'

export function messageUrlOf(publicUrl: string, inboundId: string): string {
  return `${publicUrl}/v1/inbound/messages/${inboundId}`
}

export function toInboundMessage(message: StoredMessage, publicUrl: string): InboundMessage {
  const { inboundId, mailerId, folder, domain, username, reportedAt } = message
  return {
    inbound_id: inboundId,
    state: reportedAt === null ? 'waiting' : 'reported',
    mailer_id: mailerId,
    folder,
    domain,
    username: username === '' ? null : username,
    bytes: message.bytes,
    received_at: new Date(Number(message.receivedAtMicros / 1000n)).toISOString(),
    reported_at: reportedAt?.toISOString() ?? null,
    problem: message.problem,
    raw_url: `${messageUrlOf(publicUrl, inboundId)}/raw`,
  }
}
