/** Mail that is made to exhaust who authenticates it: the findings of adversaries, and generated variants. */

import { RefusedError } from '@postrider/runtime/refused-error'
import type { ThreadOutcome } from '@postrider/runtime/thread-pool'
import { signatureBombs } from '@postrider/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import type { LookupResolver } from './ask-name-servers.ts'
import type { MeasuredStep } from './authenticate-main.ts'
import { createMailAuthenticator } from './mail-authenticator.ts'

/** Ordinary mail takes 1 ms; loaded machines, and the collection of others' garbage, take their part. */
const MAIN_CPU_MS_MAX = 150

const absent = async () => ({ kind: 'absent' as const, isName: true as const, aliases: [] })
const resolver: LookupResolver = {
  mx: absent,
  a: absent,
  aaaa: absent,
  ptr: absent,
  aliases: absent,
  txt: async (name) =>
    name === 'sender.test'
      ? { kind: 'found', records: ['v=spf1 ip4:192.0.2.1 -all'], aliases: [] }
      : absent(),
}
const outcomes: string[] = []
const observer = { of: () => (_caller: string, outcome: string) => void outcomes.push(outcome) }
const authenticator = createMailAuthenticator({ name: 'mx.routed.test', resolver, observer })
afterAll(() => authenticator.stop())

const client = { remoteIp: '192.0.2.1', helo: 'mx.sender.test', mailFrom: 'ada@sender.test' }

async function authenticate(header: string, body = 'Hello\r\n') {
  outcomes.length = 0
  const raw = Buffer.from(`${header}\r\n\r\n${body}`, 'latin1')
  const before = process.threadCpuUsage()
  const found = await authenticator.authenticate('tn_a', {
    ...{ raw, client, author: '', headers: [] },
    timeoutMs: 10_000,
  })
  const { user, system } = process.threadCpuUsage(before)
  return { ...found, outcomes: [...outcomes], mainCpuMs: (user + system) / 1_000 }
}

const FROM = 'From: ada@sender.test'
const HASH = 'bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
const signature = (o = '') =>
  `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=sender.test; s=s1; h=from; ${o}${HASH}; b=x`
const chainSet = (i: number) =>
  [
    `ARC-Seal: i=${i}; a=rsa-sha256; cv=${i === 1 ? 'none' : 'pass'}; d=list.test; s=x; b=x`,
    `ARC-Message-Signature: i=${i}; a=rsa-sha256; d=list.test; s=x; h=from; ${HASH}; b=x`,
    `ARC-Authentication-Results: i=${i}; list.test; dkim=pass`,
  ].join('\r\n')
const times = (count: number, of: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => of(i + 1)).join('\r\n')

describe('[P5] mail that is made to exhaust authentication', () => {
  it.each(signatureBombs)(
    'takes bounded CPU time in a thread, and less on the event loop: $name',
    async ({ text: header }) => {
      const found = await authenticate(`${header}\r\n${FROM}`)
      expect(found.outcomes).toEqual(found.outcomes.map(() => 'done'))
      expect(found.spf.result).toBe('pass')
      expect(found.dkim).not.toContainEqual(expect.objectContaining({ result: 'pass' }))
      expect(found.mainCpuMs).toBeLessThan(MAIN_CPU_MS_MAX)
    },
  )

  const names = ['From', 'DKIM-Signature', 'ARC-Seal', 'ARC-Message-Signature', 'Content-Type']
  const others = ['ARC-Authentication-Results', 'Return-Path', 'Received', 'X', 'no field ']
  const fillers = [
    ' ',
    '\t',
    '\r\n ',
    '\r ',
    'a:',
    'a ',
    '(',
    '"',
    '<',
    '@',
    'a@b,',
    ';',
    'b=',
    '\\',
    '=?',
    '\0',
  ]
  it.each([...names, ...others])(
    'takes bounded CPU time in a thread, and less on the event loop: %s, full of anything',
    async (name) => {
      const cases = fillers.flatMap((filler) => [
        { filler, bytes: 3_800, rest: FROM },
        { filler, bytes: 8_000, rest: `${signature()}\r\n${FROM}` },
        { filler, bytes: 100_000, rest: `${signature()}\r\n${FROM}` },
      ])
      for (const { filler, bytes, rest } of cases) {
        const full = `${name}: i=1; b=${filler.repeat(bytes / filler.length)}y`
        const found = await authenticate(`${full}\r\n${rest}`)
        const what = JSON.stringify({ filler, bytes })
        expect(found.outcomes, what).toEqual(found.outcomes.map(() => 'done'))
        expect(found.spf.result, what).toBe('pass')
        expect(found.mainCpuMs, what).toBeLessThan(MAIN_CPU_MS_MAX)
      }
    },
    60_000,
  )

  it('is ended at its CPU limit, and its client is checked anyway', async () => {
    const signatures = times(10, (i) => signature(`l=${i}000000; `))
    const found = await authenticate(`${signatures}\r\n${FROM}`, ' \t\r\n'.repeat(6_000_000))
    expect(found).toMatchObject({
      outcomes: ['cpu'],
      spf: { result: 'pass' },
      dkim: [{ result: 'permerror', explanation: 'it takes too much processor time to verify' }],
      dmarc: { result: 'permerror' },
      arc: { result: 'permerror' },
    })
  }, 60_000)
})

it('fails a chain of more than ten ARC sets without reading them', async () => {
  expect((await authenticate(`${times(11, chainSet)}\r\n${FROM}`)).arc).toEqual({ result: 'fail' })
  const ten = await authenticate(`${times(10, chainSet)}\r\n${FROM}`)
  expect(ten.arc).toEqual({ result: 'fail' })
})

describe('a message that exceeds the limits of a thread', () => {
  type Outcome = ThreadOutcome<MeasuredStep>
  /** Threads that end what has its message, then answer in this order. */
  async function scripted(...answers: (Outcome | Error)[]) {
    const kinds: string[] = []
    const pool = {
      name: 'scripted',
      start: async () => undefined,
      stop: async () => undefined,
      async run(_caller: string, { message }: { readonly message: { readonly kind: string } }) {
        kinds.push(message.kind)
        const next = answers.shift()
        if (next instanceof Error || next === undefined) throw next ?? new Error('asked too often')
        return next
      },
    }
    const pools = { small: pool, large: pool }
    // Nothing of it is cheap.
    const txt = async () => ({
      kind: 'found' as const,
      records: ['v=spf1 a:%{i}.test'],
      aliases: [],
    })
    const options = { name: 'mx', resolver: { ...resolver, txt }, pools }
    const found = await createMailAuthenticator(options).authenticate('t', {
      ...{ raw: Buffer.from(signature()), client, author: '', headers: [], timeoutMs: 1_000 },
    })
    return { found, kinds }
  }
  const temperror = { result: 'temperror' }
  const nothing = {
    spf: temperror,
    dkim: [{ ...temperror, domain: '', selector: '' }],
    dmarc: temperror,
    arc: temperror,
  }
  const authentication = { ...nothing, spf: { result: 'pass' } }
  const done: Outcome = {
    kind: 'done',
    output: { authentication, signatures: undefined, open: [], cpuMs: 1 },
  }

  it.each([
    ['cpu', 'unverifiable'],
    ['memory', 'unverifiable'],
    ['time', 'temporary'],
  ] as const)('has its client checked without the message: limit %s, %s', async (limit, kind) => {
    const { found, kinds } = await scripted({ kind: 'overran', limit }, done)
    expect(kinds).toEqual(['raw', kind])
    expect(found).toEqual(authentication)
  })

  it('leaves everything undecided the second time, and at a second defect', async () => {
    const overran: Outcome = { kind: 'overran', limit: 'cpu' }
    expect((await scripted(overran, overran)).found).toEqual(nothing)
    expect((await scripted(new Error('a defect'), new Error('a defect'))).found).toEqual(nothing)
  })

  it('is not run again after it has used its CPU time in several runs', async () => {
    const open = [{ name: 'a.test', type: 'TXT' }] as const
    const output = { authentication, signatures: undefined, open, cpuMs: 900 }
    const again: Outcome = { kind: 'done', output }
    const { found, kinds } = await scripted(again, again, again, again)
    expect(kinds.length).toBe(3)
    expect(found).toEqual(authentication)
  })

  it('passes a refusal on to the caller: the message is not at fault', async () => {
    await expect(scripted(new RefusedError('test'))).rejects.toMatchObject({
      name: 'RefusedError',
    })
  })
})
