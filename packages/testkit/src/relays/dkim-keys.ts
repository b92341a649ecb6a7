/** DKIM keys as providers take and publish them: base64 of DER, without the lines of PEM (RFC 6376 §3.6.1). */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { isBase64 } from './facts.ts'

export interface DkimKeyPair {
  /** PKCS#8. */
  readonly privateKey: string
  /** SubjectPublicKeyInfo. */
  readonly publicKey: string
}

export function generateDkimKeys(bits: number): DkimKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: bits,
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  return { privateKey: privateKey.toString('base64'), publicKey: publicKey.toString('base64') }
}

/** Whether both are RSA keys in a form that is taken, and belong together. */
export function isDkimPair(privateKey: string, publicKey: string): boolean {
  const own = readKey(privateKey, ['pkcs8', 'pkcs1'], createPrivateKey)
  const given = readKey(publicKey, ['spki', 'pkcs1'], createPublicKey)
  if (own?.asymmetricKeyType !== 'rsa' || given === undefined) return false
  return createPublicKey(own).equals(given)
}

/** Tags of a DKIM record: the public key among them, and nothing that forbids its use. */
export function dkimRecordProblem(record: string, publicKey: string): string | undefined {
  const tags = new Map(
    record.split(';').flatMap((one): [string, string][] => {
      const at = one.indexOf('=')
      return at < 0 ? [] : [[one.slice(0, at).trim(), one.slice(at + 1).replaceAll(/\s/g, '')]]
    }),
  )
  if (tags.get('v') !== undefined && tags.get('v') !== 'DKIM1') return 'v= is not DKIM1'
  if (tags.get('k') !== undefined && tags.get('k') !== 'rsa') return 'k= is not rsa'
  if (tags.get('h') !== undefined && !(tags.get('h') ?? '').split(':').includes('sha256'))
    return 'h= is not sha256'
  if (tags.get('p') === undefined) return `'${record}' is missing a p= tag`
  return tags.get('p') === publicKey ? undefined : 'p= is another key'
}

function readKey(
  text: string,
  types: readonly ('pkcs8' | 'pkcs1' | 'spki')[],
  create: (key: { key: Buffer; format: 'der'; type: 'pkcs1' }) => KeyObject,
): KeyObject | undefined {
  if (text === '' || !isBase64(text)) return undefined
  for (const type of types) {
    try {
      // `create` is one of two functions that differ in the names of the same forms.
      return create({ key: Buffer.from(text, 'base64'), format: 'der', type: type as 'pkcs1' })
    } catch {
      // Of another form, perhaps.
    }
  }
  return undefined
}
