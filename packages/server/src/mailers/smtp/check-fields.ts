/**
 * What a mailer's fields mean, beyond the shape that the schema checks (docs/reference/mailers.md#kinds).
 *
 * Everything here ends in a protocol line sooner or later (EHLO, AUTH, a header), so line breaks and
 * other control characters are refused where they enter. Each refusal names its field's path.
 */
import type { FieldError } from '@postrider/contract'
import { parseAddress } from '@postrider/mail'
import { parseHost } from '../../platform/egress/index.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const LINE_BREAK_OR_NUL = /[\r\n\u0000]/

export interface CheckedFields {
  /** In the form in which it is used and shown: lower case, A-labels, normalised addresses. */
  readonly host?: string
  readonly email?: string
  readonly errors: readonly FieldError[]
}

export function checkFields(body: {
  readonly name?: string | undefined
  readonly email?: string | undefined
  readonly config?:
    | {
        readonly host?: string | undefined
        readonly username?: string | null | undefined
        readonly password?: string | null | undefined
      }
    | undefined
}): CheckedFields {
  const errors: FieldError[] = []
  const refuse = (path: string, message: string) => errors.push({ path, message })
  const { name, email, config = {} } = body

  if (name !== undefined && (CONTROL.test(name) || name.trim() === '')) {
    refuse('/name', 'must be a line of text without control characters')
  }
  const address = email === undefined ? undefined : parseAddress(email)
  if (address?.ok === false) refuse('/email', address.problem)
  const host = config.host === undefined ? undefined : normalisedHost(config.host)
  if (config.host !== undefined && host === undefined) {
    refuse('/config/host', 'must be a host name or an IP address')
  }
  if (config.username != null && CONTROL.test(config.username)) {
    refuse('/config/username', 'must not contain control characters')
  }
  if (config.password != null && LINE_BREAK_OR_NUL.test(config.password)) {
    refuse('/config/password', 'must not contain line breaks or NUL')
  }
  return {
    errors,
    ...(host === undefined ? {} : { host }),
    ...(address?.ok === true ? { email: address.address.address } : {}),
  }
}

function normalisedHost(text: string): string | undefined {
  const host = parseHost(text)
  if (host === undefined) return undefined
  return host.kind === 'address' ? host.address : host.name
}
