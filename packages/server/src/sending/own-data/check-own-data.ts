/** Checks what recipients have of their own: with what the email has, no more than an email may have. */
import { setImmediate } from 'node:timers/promises'
import {
  customArgsBytesMax,
  type FieldError,
  type SendEmailBody,
  templateDataBytesMax,
} from '@postrider/contract'
import { validationError } from '../../platform/errors.ts'
import { problemOfCustomArgs } from '../../platform/values/custom-args.ts'

/** Writing 40 MB as JSON takes 0.2 s: the event loop has a turn after as many bytes. */
const TURN_BYTES = 1024 * 1024

/** Throws 400 with all entries at fault. */
export async function checkOwnData(body: SendEmailBody): Promise<void> {
  if (!body.to.some((one) => one.template_data !== undefined || one.custom_args != null)) return
  const sharedData = bytesOf(body.template_data)
  const sharedArgs = bytesOf(body.custom_args)
  const errors: FieldError[] = []
  const refuse = (n: number, name: string, message: string | undefined) => {
    if (message !== undefined) errors.push({ path: `/to/${n}/${name}`, message })
  }
  let sinceTurn = 0
  for (const [n, { template_data: data, custom_args: args }] of body.to.entries()) {
    const [dataBytes, argsBytes] = [bytesOf(data), bytesOf(args)]
    if (data !== undefined && dataBytes + sharedData > templateDataBytesMax)
      refuse(n, 'template_data', tooLong(templateDataBytesMax, 'template_data'))
    if (args != null) {
      refuse(n, 'custom_args', problemOfCustomArgs(args))
      if (argsBytes <= customArgsBytesMax && argsBytes + sharedArgs > customArgsBytesMax)
        refuse(n, 'custom_args', tooLong(customArgsBytesMax, 'custom_args'))
    }
    sinceTurn += dataBytes + argsBytes
    if (sinceTurn < TURN_BYTES) continue
    sinceTurn = 0
    await setImmediate()
  }
  if (errors.length > 0) throw validationError(...errors)
}

function tooLong(bytesMax: number, name: string): string {
  return `must be at most ${bytesMax} bytes as JSON, together with ${name} of the email`
}

function bytesOf(value: object | null | undefined): number {
  return value == null ? 0 : Buffer.byteLength(JSON.stringify(value))
}
