/**
 * The refusal of a domain that another tenant has proven, with the way to have it back
 * (docs/reference/inbound.md#ownership).
 */
import { ApiError } from '../../../platform/errors.ts'

export function domainTaken(domain: string): ApiError {
  return new ApiError('domain_taken', {
    message: `Another tenant has proven ${domain}. If it is yours, remove their TXT record from its zone, configure it, publish the TXT record of your own configuration and get the domain again`,
  })
}
