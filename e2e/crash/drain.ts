/** Follows the client's and the receiver's logs until every accepted recipient has its last event. */
import { join } from 'node:path'
import { followLog } from './follow-log.ts'
import type { ClientFact, SendRequest, WebhookLogFact } from './history.ts'

export interface Progress {
  /** Recipients that were accepted and have no terminal event yet, by now. */
  missing(): string[]
}

export function followProgress(directory: string): Progress {
  const client = followLog<ClientFact>(join(directory, 'client.ndjson'))
  const webhook = followLog<WebhookLogFact>(join(directory, 'webhook.ndjson'))
  const requests = new Map<string, SendRequest>()
  const open = new Set<string>()
  const done = new Set<string>()
  const onClient = (fact: ClientFact): void => {
    if (fact.fact === 'send.invoked') requests.set(fact.key, fact.request)
    if (fact.fact !== 'send.answered' || fact.status !== 202) return
    const request = requests.get(fact.key)
    const { ref_id } = fact.answer as { ref_id: string }
    const { to = [], cc = [], bcc = [] } = request ?? {}
    for (const { email } of [...to, ...cc, ...bcc]) open.add(`${ref_id} ${email}`)
  }
  const onWebhook = (fact: WebhookLogFact): void => {
    if (fact.fact !== 'request.received') return
    for (const { event, details } of JSON.parse(fact.body) as WireEvent[]) {
      if (event !== 'MAIL_DELIVERED' && details.retry_scheduled !== false) continue
      for (const email of details.email) done.add(`${details.ref_id} ${email}`)
    }
  }
  return {
    missing() {
      for (const fact of client()) onClient(fact)
      for (const fact of webhook()) onWebhook(fact)
      return [...open].filter((recipient) => !done.has(recipient))
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
