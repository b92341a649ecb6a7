/** A line of text that a form cannot do without. */
import { TextInput, type TextInputProps } from '@mantine/core'

export function RequiredInput({
  set,
  ...input
}: TextInputProps & { readonly set: (text: string) => void }) {
  return (
    <TextInput
      required
      withAsterisk={false}
      {...input}
      onChange={(event) => set(event.currentTarget.value)}
    />
  )
}
