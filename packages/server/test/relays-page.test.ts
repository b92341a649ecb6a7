/**
 * docs/relays.md against the code, and against what the providers' documents say: each curl is an
 * operation that takes its body, or a request that the provider's fake takes; each table says what is.
 */
import { readFileSync } from 'node:fs'
import * as contract from '@postrider/contract'
import {
  createSendGridServer,
  createSparkPostServer,
  createWebhookReceiver,
} from '@postrider/testkit'
import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { afterEach, describe, expect, it } from 'vitest'
import { decideStatus } from '../src/feedback/apply/decide-status.ts'
import { isTold, reportEvent } from '../src/feedback/apply/report-events.ts'
import { checkAccount } from '../src/relays/accounts/check-account.ts'
import { adapterOf, type RelayFact, type RelayMail } from '../src/relays/index.ts'
import { callsOf } from './page-calls.ts'

const page = readFileSync(new URL('../../../docs/relays.md', import.meta.url), 'utf8')
const calls = callsOf(page)
const own = calls.filter(({ url }) => url.startsWith('$BASE'))
const schemas = new Map(Object.entries(contract))

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

describe('requests to the service', () => {
  it('are operations, with a body exactly where one is accepted', () => {
    expect(calls.length).toBe(page.match(/^curl /gm)?.length)
    expect(own.filter(({ operation }) => operation === undefined)).toEqual([])
    const wrong = own.filter(
      ({ operation, json }) => schemas.has(`${operation}Body`) !== (json !== undefined),
    )
    expect(wrong).toEqual([])
  })

  it('have bodies that match the schema of their operation', () => {
    for (const { operation, json } of own) {
      if (json === undefined) continue
      const schema = schemas.get(`${operation}Body`) as TSchema
      expect(Value.Errors(schema, JSON.parse(json)), json).toEqual([])
    }
  })

  it('have queries that their operation accepts', () => {
    const asked = own.filter(({ url }) => url.includes('?'))
    expect(asked).not.toEqual([])
    for (const { operation, url } of asked) {
      const schema = schemas.get(`${operation}Query`) as TSchema
      const query = Object.fromEntries(new URL(url.replace('$BASE', 'http://x')).searchParams)
      expect(Value.Errors(schema, query), url).toEqual([])
    }
  })

  it('have accounts of the right kind', () => {
    const accounts = own.filter(({ operation, json }) => operation === 'configureRelay' && json)
    expect(accounts.length).toBeGreaterThan(3)
    for (const { url, json = '' } of accounts) {
      const kind = contract.relayKinds.find((one) => url.endsWith(`/${one}`))
      const egress = { isOwnNetwork: () => false }
      const problems = kind && checkAccount(egress, adapterOf(kind), JSON.parse(json))
      expect(problems, json).toEqual([])
    }
  })

  it('name each purpose of a record', () => {
    for (const purpose of contract.recordPurposes) expect(page).toContain(`\`${purpose}\``)
  })
})

describe('requests to the providers', () => {
  /** As written, at the fake, with the address that it names being a receiver of ours. */
  async function make(host: string, origin: string, authorization: string) {
    const receiver = await createWebhookReceiver()
    cleanups.push(() => receiver.close())
    const made: number[] = []
    for (const { method, url, json = '' } of calls.filter((one) => one.url.startsWith(host))) {
      const body = json.replaceAll(/https:\/\/mail\.example\.com[^"]*/g, `${receiver.origin}/x`)
      const headers = { authorization, 'content-type': 'application/json' }
      const answer = await fetch(url.replace(host, origin), { method, headers, body })
      expect(answer.status, `${method} ${url} ${await answer.text()}`).toBeLessThan(300)
      made.push(answer.status)
    }
    return { receiver, made }
  }

  it('register a webhook at SparkPost, which pings it with the secret and sends all needed reports', async () => {
    const sparkPost = await createSparkPostServer()
    cleanups.push(() => sparkPost.close())
    const host = 'https://api.sparkpost.com'
    const { receiver, made } = await make(host, sparkPost.origin, sparkPost.apiKey)
    expect(made).toEqual([200])
    expect(sparkPost.ignoredFields).toEqual([])
    expect(receiver.requests[0]?.header('x-callback-secret')).toBe('a-long-random-text-of-yours')
    const [call] = calls.filter(({ url }) => url.startsWith(host))
    const listed: string[] = JSON.parse(call?.json ?? '').events
    expect(listed.toSorted()).toEqual(columnOf(0).toSorted())
  })

  it('configure SendGrid, which signs its reports and posts its test to the given URL', async () => {
    const sendGrid = await createSendGridServer()
    cleanups.push(() => sendGrid.close())
    const host = 'https://api.sendgrid.com'
    const key = `Bearer ${sendGrid.apiKey}`
    const { receiver, made } = await make(host, sendGrid.origin, key)
    expect(made).toEqual([200, 200, 204])
    const [tested] = receiver.requests
    const headers = tested?.rawHeaders.map(([name, value]) => [name.toLowerCase(), value])
    const { callbacks } = adapterOf('sendgrid')
    const request = {
      headers: Object.fromEntries(headers ?? []),
      body: tested?.body ?? Buffer.alloc(0),
    }
    const secrets = { verificationKey: sendGrid.verificationKey }
    expect(callbacks.isAuthentic(request, secrets, Date.now())).toBe(true)
    expect(callbacks.read(request.body.toString())?.length).toBeGreaterThan(5)
  })
})

describe('reports by providers', () => {
  const mail = { ref: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8.0' }

  it('reports of SparkPost have the documented event and status', async () => {
    const sparkPost = await createSparkPostServer()
    cleanups.push(() => sparkPost.close())
    sparkPost.domains.add('example.com')
    await post(`${sparkPost.apiBase}/v1/transmissions`, sparkPost.apiKey, {
      metadata: mail,
      recipients: [{ address: 'ada@example.com' }],
      content: { from: 'news@example.com', subject: 'Hello', text: 'Hello' },
    })
    const [sent] = sparkPost.mails
    if (sent === undefined) throw new Error('nothing was taken')
    for (const { types, event, status } of rowsOf(0)) {
      const batch = JSON.stringify(sparkPost.eventsOf(sent, types))
      const facts = adapterOf('sparkpost').callbacks.read(batch) ?? []
      expect(facts.map(meaningOf), types.join()).toEqual(types.map(() => ({ event, status })))
    }
  })

  it('reports of SendGrid have the documented event and status', async () => {
    const sendGrid = await createSendGridServer()
    cleanups.push(() => sendGrid.close())
    sendGrid.domains.add('example.com')
    await post(`${sendGrid.apiBase}/v3/mail/send`, `Bearer ${sendGrid.apiKey}`, {
      personalizations: [{ to: [{ email: 'ada@example.com' }], custom_args: mail }],
      from: { email: 'news@example.com' },
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'Hello' }],
    })
    const [sent] = sendGrid.mails
    if (sent === undefined) throw new Error('nothing was taken')
    for (const { types, event, status } of rowsOf(1)) {
      const batch = JSON.stringify(sendGrid.eventsOf(sent, types))
      const facts = adapterOf('sendgrid').callbacks.read(batch) ?? []
      expect(facts.map(meaningOf), types.join()).toEqual(types.map(() => ({ event, status })))
    }
  })

  it('reports of the simulator have the documented event for each name', () => {
    const simulator = adapterOf('simulator')
    if (simulator.kind !== 'simulator') throw new Error('it is a provider')
    const rows = tableRows(/^\| `([a-z-]+)`[^|]*\| ([^|]*(?:MAIL_|SMTP_)[^|]*) \|$/gm)
    expect(rows.length).toBe(12)
    for (const [name = '', told = ''] of rows) {
      const { outcome, callback = '[]' } = simulator.simulate(mailTo(name), Date.now())
      const facts = simulator.callbacks.read(callback) ?? []
      const events = facts.flatMap((fact) => meaningOf(fact).event ?? [])
      const expected = [...told.matchAll(/`(MAIL_\w+)`/g)].map(([, event]) => event)
      expect(events, name).toEqual(expected)
      expect(outcome.kind, name).toBe(told.includes('SMTP_ERROR') ? 'failed' : 'accepted')
      if (outcome.kind === 'failed')
        expect(outcome.failure.retryable).toBe(told.includes('repeated'))
      const suppresses = facts.some((fact) => fact.suppresses !== undefined)
      expect(suppresses, name).toBe(told.includes('suppressed'))
    }
  })
})

function meaningOf(fact: RelayFact): { event: string | undefined; status: string } {
  const standing = { status: 'sent' as const, isInDoubt: false }
  const { status } = decideStatus(standing, fact.kind)
  const recipient = { refId: '', mailerId: '', email: '', customArgs: null, traceparent: '' }
  const told = { recipient, messageId: '', fact, atMicros: 0n } as unknown
  const event = isTold(fact.kind)
    ? reportEvent('tn_a', told as Parameters<typeof reportEvent>[1], NO_AGENT).event
    : undefined
  return { event, status: status === 'sent' ? 'as before' : status }
}

const NO_AGENT = {
  browser_name: '',
  browser_version: '',
  os: '',
  device_type: '',
  platform: '',
} as unknown as Parameters<typeof reportEvent>[2]

interface Row {
  readonly types: string[]
  readonly event: string | undefined
  readonly status: string
}

/** Of the table of reports: SparkPost's column, or SendGrid's. */
function rowsOf(column: 0 | 1): Row[] {
  const rows = tableRows(
    /^\| ((?:`\w+`(?:, )?)+) \| ((?:`\w+`(?:, )?)*) ?\| ([^|]+) \| ([^|]+) \|$/gm,
  )
  expect(rows.length).toBe(8)
  return rows
    .map((cells) => ({
      types: codesIn(cells[column]),
      event: codesIn(cells[2])[0],
      status: (cells[3] ?? '').replaceAll('`', ''),
    }))
    .filter(({ types }) => types.length > 0)
}

function columnOf(column: 0 | 1): string[] {
  return rowsOf(column).flatMap(({ types }) => types)
}

function tableRows(shape: RegExp): string[][] {
  return [...page.matchAll(shape)].map(([, ...cells]) => cells)
}

function codesIn(text = ''): string[] {
  return [...text.matchAll(/`(\w+)`/g)].map(([, code = '']) => code)
}

async function post(url: string, authorization: string, body: object): Promise<void> {
  const headers = { authorization, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  expect(answer.ok, await answer.text()).toBe(true)
}

function mailTo(name: string): RelayMail {
  const address = `${name}@example.com`
  return {
    refId: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
    n: 0,
    from: { address: 'news@example.com' },
    to: { address },
    type: 'to',
    shown: { to: [{ address }], cc: [] },
    subject: 'Hello',
    text: 'Hello',
    headers: [],
    attachments: [],
  }
}
