/** Checks what recipients have of their own: with what the email has, no more than an email may have. */
import { customArgsBytesMax, type SendEmailBody, templateDataBytesMax } from '@postrider/contract'
import { problemOfCustomArgs } from '../../platform/values/custom-args.ts'
import type { Refuse } from '../accept/check-attachments.ts'

export function checkOwnData(body: SendEmailBody, refuse: Refuse): void {
  if (!body.to.some((one) => one.template_data !== undefined || one.custom_args != null)) return
  const sharedData = bytesOf(body.template_data)
  const sharedArgs = bytesOf(body.custom_args)
  for (const [n, { template_data: data, custom_args: args }] of body.to.entries()) {
    if (data !== undefined && bytesOf(data) + sharedData > templateDataBytesMax)
      refuse(`/to/${n}/template_data`, tooLong(templateDataBytesMax, 'template_data'))
    if (args == null) continue
    refuse(`/to/${n}/custom_args`, problemOfCustomArgs(args))
    const bytes = bytesOf(args)
    if (bytes <= customArgsBytesMax && bytes + sharedArgs > customArgsBytesMax)
      refuse(`/to/${n}/custom_args`, tooLong(customArgsBytesMax, 'custom_args'))
  }
}

function tooLong(bytesMax: number, name: string): string {
  return `must be at most ${bytesMax} bytes as JSON, together with ${name} of the email`
}

function bytesOf(value: object | null | undefined): number {
  return value == null ? 0 : Buffer.byteLength(JSON.stringify(value))
}
