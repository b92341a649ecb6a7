/** The library's controls that screens use; nothing else of it is used outside of this folder. */
export {
  ActionIcon,
  Button,
  Checkbox,
  FileInput,
  Menu,
  MultiSelect,
  PasswordInput,
  Radio,
  SegmentedControl,
  Select,
  Switch,
  Tabs,
  Textarea,
  TextInput,
} from '@mantine/core'

/** For fields beside each other: the inputs are in line, however long the help is. */
export const helpBelow: {
  readonly inputWrapperOrder: ('label' | 'input' | 'description' | 'error')[]
} = { inputWrapperOrder: ['label', 'input', 'description', 'error'] }
