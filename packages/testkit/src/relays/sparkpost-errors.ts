/** Refusals of SparkPost's API in its own form, by its codes (Extended Error Codes, API Overview). */
import type { PeerReply } from './http-peer.ts'

export function sparkPostError(
  status: number,
  code: string | undefined,
  message: string,
  description?: string,
): PeerReply {
  return {
    status,
    json: {
      errors: [
        {
          message,
          ...(description === undefined ? {} : { description }),
          ...(code === undefined ? {} : { code }),
        },
      ],
    },
  }
}

/** Names of errors as tests set them, with what they say. */
export const SPARKPOST = {
  unauthorized: sparkPostError(401, undefined, 'Unauthorized.'),
  forbidden: sparkPostError(403, '1100', 'permission denied'),
  unverifiedDomain: sparkPostError(
    400,
    '7001',
    'Invalid domain',
    'Unconfigured or unverified sending domain.',
  ),
  restrictedDomain: sparkPostError(
    400,
    '7000',
    'Restricted domain',
    'Please contact support to get this domain authorized for your account.',
  ),
  hourlyLimit: sparkPostError(420, '2101', 'Exceed Sending Limit (hourly)'),
  dailyLimit: sparkPostError(420, '2102', 'Exceed Sending Limit (daily)'),
  sandboxLimit: sparkPostError(420, '2103', 'Exceed Sending Limit (sandbox)'),
  monthlyLimit: sparkPostError(420, '2105', 'Exceed Sending Limit (monthly)'),
  tooManyRequests: sparkPostError(429, undefined, 'Too many requests'),
  noResources: sparkPostError(400, '1502', 'Server resources unavailable'),
  databaseFailed: sparkPostError(500, '1500', 'Failed to update database'),
  unavailable: sparkPostError(503, '1900', 'Message generation module not available'),
} as const satisfies Readonly<Record<string, PeerReply>>

export const NO_URI = sparkPostError(404, '1101', 'invalid URI')
export const NO_METHOD = sparkPostError(405, '1102', 'invalid HTTP method')
export const notFound = (description: string): PeerReply =>
  sparkPostError(404, '1600', 'resource not found', description)
export const isMissing = (description: string): PeerReply =>
  sparkPostError(422, '1400', 'required field is missing', description)
export const isInvalid = (description: string): PeerReply =>
  sparkPostError(422, '1300', 'invalid data format/type/length', description)
