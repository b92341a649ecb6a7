/** What was found of a received message's sender, as rows: the words of the standards, and how good they are. */
import type { IncomingEmail } from '@postrider/client'
import type { Tone } from '../ui/state-mark.tsx'

export type ReceivedMail = IncomingEmail['details']

export interface AuthenticationRow {
  readonly method: 'SPF' | 'DKIM' | 'DMARC' | 'ARC'
  /** As RFC 8601 calls it. */
  readonly result: string
  readonly tone: Tone
  readonly domain: string | undefined
  readonly selector: string | undefined
  /** The signature leaves a part of the body open. */
  readonly isPartial: boolean
  readonly explanation: string | undefined
  /** What the domain asks for. */
  readonly policy: string | undefined
}

export function authenticationOf({ spf, dkim, dmarc, arc }: ReceivedMail): AuthenticationRow[] {
  const signatures = dkim.length === 0 ? [{ result: 'none' }] : dkim
  return [
    rowOf('SPF', spf),
    ...signatures.map((one) => rowOf('DKIM', one)),
    rowOf('DMARC', dmarc),
    ...(arc === undefined || arc.result === 'none' ? [] : [rowOf('ARC', arc)]),
  ]
}

function rowOf(
  method: AuthenticationRow['method'],
  found: { readonly result: string } & Readonly<Record<string, unknown>>,
): AuthenticationRow {
  const textOf = (name: string) => {
    const value = found[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const isPartial = found.partial === true
  return {
    ...{ method, result: found.result, isPartial },
    tone: isPartial && found.result === 'pass' ? 'warn' : toneOf(found.result),
    ...{ domain: textOf('domain'), selector: textOf('selector') },
    ...{ explanation: textOf('explanation'), policy: textOf('policy') },
  }
}

export function toneOf(result: string): Tone {
  if (result === 'pass') return 'good'
  if (result === 'fail') return 'bad'
  return result === 'none' || result === 'neutral' ? 'muted' : 'warn'
}

export function nameOf({ name, email }: ReceivedMail['from']): string {
  return name === '' ? email : `${name} <${email}>`
}
