/** The address that a request names, or its refusal by path. */
import { type EmailAddress, parseAddress } from '@postrider/mail'
import { validationError } from '../platform/errors.ts'

export function readAddress(email: string): EmailAddress {
  const parsed = parseAddress(email)
  if (!parsed.ok) throw validationError({ path: '/email', message: parsed.problem })
  return parsed.address
}
