/**
 * The history put in order: sends with their recipients, what the SMTP server saw of each recipient,
 * and the webhook requests with the events in them. Judges nothing.
 */
import type { ClientFact, DeliveryRecord, History, SendRequest, WebhookLogFact } from './history.ts'

export type Tenant = Extract<ClientFact, { fact: 'tenant.ready' }>

export interface Send {
  readonly key: string
  readonly tenant: string
  readonly traceId: string
  readonly request: SendRequest
  readonly recipients: readonly string[]
  readonly invokedAt: number
  readonly answers: { readonly status: number; readonly answer: unknown }[]
  /** Of every answer that accepted it: more than one is a fault. */
  readonly refIds: Set<string>
}

export interface Copy {
  readonly at: number
  readonly transaction: number
  readonly messageId: string
  readonly raw: string
  readonly reply: string | null
  readonly accepted: boolean
  readonly replyFlushed: boolean
}

/** What the SMTP server knows of one address; each address occurs in one email only. */
export interface Seen {
  /** Messages whose final dot came. */
  readonly copies: Copy[]
  /** Refusals (4yz, 5yz) that were given to it, at any phase, lines joined by a space. */
  readonly refusals: string[]
  /** How often a message was cut off before its final dot came. */
  cutShort: number
  /** When each transaction named it. */
  readonly namedAt: number[]
}

export interface DeliveredEvent {
  readonly event: string
  readonly success: unknown
  readonly details: Readonly<Record<string, unknown>>
  /** `ref_id + event + event_at (+ attempt)` */
  readonly dedupKey: string
  readonly json: string
  readonly request: number
  readonly tenant: Tenant
}

export interface Request {
  readonly request: number
  readonly at: number
  readonly log: Extract<WebhookLogFact, { fact: 'request.received' }>
  readonly tenant: Tenant | undefined
  /** The elements of its body, undefined when that is no array of objects. */
  readonly events: readonly DeliveredEvent[] | undefined
  /** A 2xx was handed to the kernel as a whole. */
  readonly acknowledged: boolean
  /** It was answered that the content is the fault: it may be divided. */
  readonly refused: boolean
}

/** One reading of the record of one tenant's deliveries. */
export type DeliveriesRead = Extract<ClientFact, { fact: 'deliveries.read' }>

export interface Model {
  readonly tenants: readonly Tenant[]
  readonly sends: readonly Send[]
  readonly seen: ReadonlyMap<string, Seen>
  readonly requests: readonly Request[]
  /** The events of each recipient (`<ref_id> <address>`), repetitions taken out, by event_at. */
  readonly eventsOf: ReadonlyMap<string, readonly DeliveredEvent[]>
  /** When a process was killed, or was suspended and then found its work taken over. */
  readonly cuts: readonly Cut[]
  /** When a dispatcher was started beside another and took streams over from it. */
  readonly handovers: readonly number[]
  readonly readings: readonly DeliveriesRead[]
  /** From then on the receiver took the poison; undefined when it was never healed. */
  readonly poisonTakenAt: number | undefined
}

export interface Cut {
  readonly process: string
  readonly at: number
  /** What it had under way may still take effect until then. */
  readonly until: number
}

export const recipientKey = (refId: string, address: string): string =>
  `${refId} ${address.toLowerCase()}`

export const isDispatcher = (process: string): boolean => process.startsWith('dispatcher')

/** Interrupting one of these can cut off a delivery between the answer and its record. */
export const cutsDeliveries = ({ process }: Cut): boolean =>
  isDispatcher(process) || process === 'database'

export function isPoison({ details }: DeliveredEvent): boolean {
  return (details.custom_args as { poison?: unknown } | null)?.poison === true
}

/** Of an event in the record of a delivery: `ref_id + event + event_at (+ attempt)`. */
export function recordedKey(event: DeliveryRecord['events'][number]): string {
  return [event.ref_id, event.event, event.event_at, event.attempt ?? ''].join(' ')
}

export function buildModel(history: History): Model {
  const tenants = history.client.filter((fact) => fact.fact === 'tenant.ready')
  const requests = readRequests(history, tenants)
  return {
    tenants,
    sends: readSends(history),
    seen: readSeen(history),
    requests,
    eventsOf: groupEvents(requests),
    cuts: readCuts(history),
    handovers: readHandovers(history),
    readings: history.client.filter((fact) => fact.fact === 'deliveries.read'),
    poisonTakenAt: history.webhook.find((fact) => fact.fact === 'healed')?.at,
  }
}

function readHandovers({ nemesis }: History): number[] {
  const running = new Set<number>()
  const handovers: number[] = []
  for (const fact of nemesis) {
    if (!('process' in fact) || !isDispatcher(fact.process) || !('pid' in fact)) continue
    if (fact.fact === 'process.died') running.delete(fact.pid)
    if (fact.fact !== 'process.started') continue
    if (running.size > 0) handovers.push(fact.at)
    running.add(fact.pid)
  }
  return handovers
}

function readCuts({ nemesis }: History): Cut[] {
  return nemesis.flatMap((fact): Cut[] => {
    if (fact.fact === 'process.died' && fact.by !== 'stop') {
      return [{ process: fact.process, at: fact.at, until: fact.at }]
    }
    if (fact.fact !== 'process.frozen') return []
    const thaw = nemesis.find((one) => one.fact === 'process.thawed' && one.pid === fact.pid)
    return [{ process: fact.process, at: fact.at, until: thaw?.at ?? fact.at }]
  })
}

function readSends(history: History): Send[] {
  const sends = new Map<string, Send>()
  for (const fact of history.client) {
    if (fact.fact === 'send.invoked' && !sends.has(fact.key)) {
      const { to, cc = [], bcc = [] } = fact.request
      sends.set(fact.key, {
        key: fact.key,
        tenant: fact.tenant,
        traceId: fact.traceparent.split('-')[1] ?? '',
        request: fact.request,
        recipients: [...to, ...cc, ...bcc].map((one) => one.email),
        invokedAt: fact.at,
        answers: [],
        refIds: new Set(),
      })
    }
    if (fact.fact !== 'send.answered') continue
    const send = sends.get(fact.key)
    send?.answers.push({ status: fact.status, answer: fact.answer })
    const refId = (fact.answer as { ref_id?: unknown } | null)?.ref_id
    if (fact.status === 202 && typeof refId === 'string') send?.refIds.add(refId)
  }
  return [...sends.values()]
}

function readSeen(history: History): Map<string, Seen> {
  const seen = new Map<string, Seen>()
  const at = (address: string): Seen => {
    const name = address.toLowerCase()
    const known = seen.get(name) ?? { copies: [], refusals: [], cutShort: 0, namedAt: [] }
    seen.set(name, known)
    return known
  }
  const flushed = new Set(
    history.smtp.flatMap((fact) => (fact.fact === 'reply.flushed' ? [fact.transaction] : [])),
  )
  for (const fact of history.smtp) {
    if (fact.fact === 'reply.given' && fact.phase === 'rcpt' && fact.recipient !== undefined) {
      const one = at(fact.recipient)
      one.namedAt.push(fact.at)
      if (isRefusal(fact.reply)) one.refusals.push(joinLines(fact.reply))
    }
    if (fact.fact === 'reply.given' && fact.phase === 'body' && fact.recipient !== undefined) {
      at(fact.recipient).cutShort += 1
    }
    if (fact.fact !== 'message.received') continue
    for (const recipient of fact.recipients) {
      const one = at(recipient)
      if (isRefusal(fact.reply)) one.refusals.push(joinLines(fact.reply))
      one.copies.push({ ...fact, replyFlushed: flushed.has(fact.transaction) })
    }
  }
  return seen
}

function isRefusal(reply: string | null): reply is string {
  return reply !== null && /^[45]/.test(reply)
}

function joinLines(reply: string): string {
  return reply.split('\n').join(' ')
}

const REFUSALS: readonly number[] = [400, 413, 415, 422]

function readRequests(history: History, tenants: readonly Tenant[]): Request[] {
  const flushed = new Set(
    history.webhook.flatMap((fact) => (fact.fact === 'answer.flushed' ? [fact.request] : [])),
  )
  return history.webhook.flatMap((log) => {
    if (log.fact !== 'request.received') return []
    const tenant = tenants.find((one) => one.path === log.path)
    const { status = 0 } = log.answer
    const isWhole = log.answer.ending === undefined && flushed.has(log.request)
    return {
      request: log.request,
      at: log.at,
      log,
      tenant,
      events: tenant === undefined ? undefined : readEvents(log.body, log.request, tenant),
      acknowledged: isWhole && status >= 200 && status < 300,
      refused: isWhole && REFUSALS.includes(status),
    }
  })
}

function readEvents(body: string, request: number, tenant: Tenant): DeliveredEvent[] | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return undefined
  }
  if (!Array.isArray(parsed)) return undefined
  return parsed.map((element) => {
    const { event, success, details = {} } = element as DeliveredEvent
    const key = [details.ref_id, event, details.event_at, details.attempt ?? '']
    return {
      event,
      success,
      details,
      dedupKey: key.join(' '),
      json: JSON.stringify(element),
      request,
      tenant,
    }
  })
}

function groupEvents(requests: readonly Request[]): Map<string, DeliveredEvent[]> {
  const groups = new Map<string, Map<string, DeliveredEvent>>()
  for (const event of requests.flatMap((request) => request.events ?? [])) {
    for (const address of Array.isArray(event.details.email) ? event.details.email : []) {
      const key = recipientKey(String(event.details.ref_id), String(address))
      const group = groups.get(key) ?? new Map<string, DeliveredEvent>()
      groups.set(key, group)
      if (!group.has(event.dedupKey)) group.set(event.dedupKey, event)
    }
  }
  return new Map([...groups].map(([key, group]) => [key, [...group.values()].sort(byTime)]))
}

function byTime(a: DeliveredEvent, b: DeliveredEvent): number {
  const [left, right] = [String(a.details.event_at), String(b.details.event_at)]
  return left < right ? -1 : left > right ? 1 : 0
}
