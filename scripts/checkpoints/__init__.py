# SPDX-FileCopyrightText: kvmeter contributors
# SPDX-License-Identifier: Apache-2.0
"""Make Hugging Face checkpoint folders (config.json, model.safetensors, tokenizer.json)."""
