import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fixtureEvents } from './events.fixture.ts'
import { sendgrid } from './sendgrid.ts'

const { isAuthentic, checkSecrets } = sendgrid.callbacks
const SIGNATURE = 'x-twilio-email-event-webhook-signature'
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp'
const nowMs = Date.UTC(2026, 10, 20, 10)
const now = String(nowMs / 1000)
/** As SendGrid writes it: with line ends that parsing and writing again would lose. */
const body = Buffer.from(
  `${JSON.stringify(Object.values(fixtureEvents)).replaceAll('},', '},\r\n')}\r\n`,
)

const pair = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const shown = (key: KeyObject) => key.export({ format: 'der', type: 'spki' }).toString('base64')
const { publicKey, privateKey } = pair()
const secrets = { verificationKey: shown(publicKey) }

const signed = (timestamp = now, of: Buffer = body, key = privateKey) => ({
  headers: {
    [SIGNATURE]: sign('sha256', Buffer.concat([Buffer.from(timestamp), of]), key).toString(
      'base64',
    ),
    [TIMESTAMP]: timestamp,
  },
  body,
})
const check = (request: Parameters<typeof isAuthentic>[0], of = secrets) =>
  isAuthentic(request, of, nowMs)

describe('a callback to an account with a key', () => {
  it('is authentic with a signature of its time and its bytes', () => {
    expect(check(signed())).toBe(true)
  })

  it('is not authentic with the signature of another key, body or time', () => {
    expect(check(signed(now, body, pair().privateKey))).toBe(false)
    expect(check(signed(now, Buffer.from(JSON.stringify(JSON.parse(body.toString())))))).toBe(false)
    const later = String(nowMs / 1000 + 1)
    expect(check({ ...signed(), headers: { ...signed().headers, [TIMESTAMP]: later } })).toBe(false)
  })

  it('is not authentic without a signature or without a time', () => {
    const { headers } = signed()
    for (const name of [SIGNATURE, TIMESTAMP] as const)
      for (const value of [undefined, '', 'x', [headers[name] ?? ''], `${headers[name]} `, '=='])
        expect(check({ body, headers: { ...headers, [name]: value } })).toBe(false)
    expect(check({ body, headers: {} })).toBe(false)
    expect(check(signed('data timestamp'))).toBe(false)
  })

  it('is authentic as long as SendGrid repeats it, and no longer', () => {
    const at = (hours: number) => check(signed(String(nowMs / 1000 - hours * 3_600)))
    expect([24, 25, 25.01, -1, -1.01].map(at)).toEqual([true, true, false, true, false])
  })

  it('is not authentic when any byte was changed', () => {
    const request = signed()
    const change = fc.record({
      at: fc.nat({ max: body.length - 1 }),
      bits: fc.integer({ min: 1, max: 255 }),
    })
    fc.assert(
      fc.property(change, ({ at, bits }) => {
        const altered = Buffer.from(body)
        altered.writeUInt8(altered.readUInt8(at) ^ bits, at)
        expect(check({ ...request, body: altered })).toBe(false)
      }),
    )
    const parts = [Buffer.from('['), body.subarray(1), Buffer.concat([body, Buffer.from(' ')])]
    for (const altered of [...parts, Buffer.alloc(0)])
      expect(check({ ...request, body: altered })).toBe(false)
  })

  it('is not authentic with a malformed signature, and causes no error', () => {
    const { headers } = signed()
    const der = Buffer.from(headers[SIGNATURE] ?? '', 'base64')
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat({ max: der.length - 1 }), (odd, at) => {
        const altered = Buffer.from(der)
        altered.writeUInt8(altered.readUInt8(at) ^ 1, at)
        for (const signature of [Buffer.from(odd), der.subarray(0, at), altered])
          expect(
            check({ body, headers: { ...headers, [SIGNATURE]: signature.toString('base64') } }),
          ).toBe(false)
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(check({ body, headers: { ...headers, [SIGNATURE]: text } })).toBe(false)
      }),
    )
  })

  it('is not authentic with a key of another type', () => {
    const p384 = generateKeyPairSync('ec', { namedCurve: 'secp384r1' })
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    for (const { publicKey: key, privateKey: signer } of [p384, rsa])
      expect(check(signed(now, body, signer), { verificationKey: shown(key) })).toBe(false)
    for (const verificationKey of ['', 'x', 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE'])
      expect(check(signed(), { verificationKey })).toBe(false)
  })

  it('is authentic also by a key in PEM', () => {
    const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
    expect(check(signed(), { verificationKey: pem })).toBe(true)
  })
})

describe('a callback to an account without a key', () => {
  it('is authentic by its path alone', () => {
    expect(isAuthentic({ headers: {}, body }, {}, nowMs)).toBe(true)
  })
})

describe('a verification key', () => {
  it('must be of the type that SendGrid uses', () => {
    expect(checkSecrets?.({})).toBeUndefined()
    expect(checkSecrets?.(secrets)).toBeUndefined()
    const { publicKey: ed25519 } = generateKeyPairSync('ed25519')
    for (const verificationKey of ['', 'SG.key', shown(ed25519)])
      expect(checkSecrets?.({ verificationKey })).toMatch(/^must be a public key/)
  })
})
