/** Follows the client's and the receiver's logs until every accepted recipient has its last event. */
import { join } from 'node:path'
import { followLog } from './follow-log.ts'
import type { ClientFact, SendRequest, WebhookLogFact } from './history.ts'

export interface Progress {
  /** What is still to come: recipients without their last event, events without a 2xx. */
  missing(): string[]
}

export function followProgress(directory: string): Progress {
  const client = followLog<ClientFact>(join(directory, 'client.ndjson'))
  const webhook = followLog<WebhookLogFact>(join(directory, 'webhook.ndjson'))
  const sends = new Map<string, SendRequest>()
  const requests = new Map<number, readonly WireEvent[]>()
  const open = new Set<string>()
  const ended = new Set<string>()
  const seen = new Set<string>()
  const acknowledged = new Set<string>()
  const onClient = (fact: ClientFact): void => {
    if (fact.fact === 'send.invoked') sends.set(fact.key, fact.request)
    if (fact.fact !== 'send.answered' || fact.status !== 202) return
    const { ref_id } = fact.answer as { ref_id: string }
    const { to = [], cc = [], bcc = [] } = sends.get(fact.key) ?? {}
    for (const { email } of [...to, ...cc, ...bcc]) open.add(`${ref_id} ${email}`)
  }
  const onRequest = (fact: Extract<WebhookLogFact, { fact: 'request.received' }>): void => {
    const events = JSON.parse(fact.body) as WireEvent[]
    for (const event of events) seen.add(JSON.stringify(event))
    const { status = 0, ending } = fact.answer
    if (status >= 200 && status < 300 && ending === undefined) requests.set(fact.request, events)
  }
  const onAcknowledged = (event: WireEvent): void => {
    acknowledged.add(JSON.stringify(event))
    const { ref_id, email, retry_scheduled } = event.details
    if (event.event !== 'MAIL_DELIVERED' && retry_scheduled !== false) return
    for (const address of email) ended.add(`${ref_id} ${address}`)
  }
  return {
    missing() {
      for (const fact of client()) onClient(fact)
      for (const fact of webhook()) {
        if (fact.fact === 'request.received') onRequest(fact)
        if (fact.fact === 'answer.flushed') requests.get(fact.request)?.forEach(onAcknowledged)
      }
      return [
        ...[...open].filter((recipient) => !ended.has(recipient)),
        ...[...seen].filter((event) => !acknowledged.has(event)),
      ]
    },
  }
}

interface WireEvent {
  readonly event: string
  readonly details: {
    readonly ref_id: string
    readonly email: readonly string[]
    readonly retry_scheduled?: boolean
  }
}
