/** A received message in wire form (docs/reference/events.md#incoming-email). */
import type { InboundMessage } from '@postrider/contract'
import type { StoredMessage } from './message-store.ts'

export function messageUrlOf(publicUrl: string, inboundId: string): string {
  return `${publicUrl}/v1/inbound/messages/${inboundId}`
}

export interface ShownMessage {
  readonly publicUrl: string
  /** Else who sent it and its subject are left out. */
  readonly mayReadContent: boolean
}

export function toInboundMessage(
  message: StoredMessage,
  { publicUrl, mayReadContent }: ShownMessage,
): InboundMessage {
  const { from = null, subject = null, authentication = null } = message.summary ?? {}
  const { inboundId, mailerId, folder, domain, username, reportedAt } = message
  return {
    inbound_id: inboundId,
    state: reportedAt === null ? 'waiting' : 'reported',
    mailer_id: mailerId,
    folder,
    domain,
    username: username === '' ? null : username,
    from: mayReadContent ? from : null,
    subject: mayReadContent ? subject : null,
    authentication,
    bytes: message.bytes,
    received_at: new Date(Number(message.receivedAtMicros / 1000n)).toISOString(),
    reported_at: reportedAt?.toISOString() ?? null,
    problem: message.problem,
    raw_url: `${messageUrlOf(publicUrl, inboundId)}/raw`,
  }
}
