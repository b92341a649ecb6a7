/**
 * What the fields of an account mean, beyond the shape that the schema checks
 * (docs/reference/domains.md#relay-accounts). Each refusal names its field's path.
 *
 * The key goes to `api_base`, so that is an https URL, or http to a network that the operator has
 * opened.
 */
import type { ConfigureRelayBody, FieldError, RelayKind } from '@postrider/contract'
import { type Egress, problemOfEndpoint } from '../../platform/egress/index.ts'
import type { RelayAdapter } from '../relay.ts'

type Field = keyof ConfigureRelayBody

const TAKES: Readonly<Record<RelayKind, readonly Field[]>> = {
  sparkpost: ['api_key', 'api_base', 'callback_secret'],
  sendgrid: ['api_key', 'api_base', 'verification_key'],
  simulator: [],
}

export function checkAccount(
  egress: Pick<Egress, 'isOwnNetwork'>,
  adapter: RelayAdapter,
  fields: ConfigureRelayBody,
): FieldError[] {
  const strange = namesOf(fields).filter((name) => !TAKES[adapter.kind].includes(name))
  if (strange.length > 0)
    return strange.map((name) => ({ path: `/${name}`, message: `is not for ${adapter.kind}` }))
  return [
    ...errorAt('api_key', problemOfText(fields.api_key)),
    ...errorAt('api_base', problemOfBase(egress, fields.api_base)),
    ...checkSecrets(adapter, fields),
  ]
}

/** In the form in which it is stored and compared. */
export function normalisedBase(apiBase: string): string {
  const { origin, pathname } = new URL(apiBase)
  return origin + pathname.replace(/\/+$/, '')
}

function problemOfBase(
  egress: Pick<Egress, 'isOwnNetwork'>,
  apiBase: string | null | undefined,
): string | undefined {
  if (apiBase == null) return undefined
  const problem = problemOfEndpoint(egress, apiBase)
  if (problem !== undefined) return problem
  if (apiBase.includes('?')) return 'must not have a query'
  // The paths below it begin with the version, and it would stand there twice.
  return /\/v\d+\/*$/.test(apiBase) ? 'must end before the version' : undefined
}

/** They are values of header fields. */
function problemOfText(text: string | null | undefined): string | undefined {
  return text == null || /^[\x21-\x7e]+$/.test(text)
    ? undefined
    : 'must be visible ASCII characters'
}

function checkSecrets({ callbacks }: RelayAdapter, fields: ConfigureRelayBody): FieldError[] {
  const { callback_secret: secret, verification_key: key } = fields
  const problem = problemOfText(secret)
  if (problem !== undefined) return errorAt('callback_secret', problem)
  const secrets = {
    ...(secret == null ? {} : { callbackSecret: secret }),
    ...(key == null ? {} : { verificationKey: key }),
  }
  return errorAt(
    key === undefined ? 'callback_secret' : 'verification_key',
    callbacks.checkSecrets?.(secrets),
  )
}

function namesOf(fields: ConfigureRelayBody): Field[] {
  return (Object.keys(fields) as Field[]).filter((name) => fields[name] != null)
}

function errorAt(name: Field, message: string | undefined): FieldError[] {
  return message === undefined ? [] : [{ path: `/${name}`, message }]
}
